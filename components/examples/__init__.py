"""Solved examples that prompts show before the question."""
