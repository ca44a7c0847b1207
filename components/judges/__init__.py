"""Metrics that score answers and passages by asking a language model."""
