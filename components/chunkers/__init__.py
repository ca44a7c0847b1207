"""Chunkers, which cut documents into chunks: spans of their text."""
