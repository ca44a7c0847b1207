"""Prompts: the messages for a model."""
