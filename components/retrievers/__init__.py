"""Retrievers, which find chunks."""
