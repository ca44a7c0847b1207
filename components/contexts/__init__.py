"""Choosing what goes into the prompt."""
