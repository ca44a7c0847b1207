"""Compressors, which shorten the passages of a prompt."""
