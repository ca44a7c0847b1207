"""Compressors: what a prompt shows of its passages."""
