"""Whole pipelines: the built-in one, and pipelines of the user's own."""
