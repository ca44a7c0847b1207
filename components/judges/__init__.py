"""Metrics that score answers and passages with a language model."""
