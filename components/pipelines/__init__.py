"""Whole pipelines: the built-in one, and custom pipelines."""
