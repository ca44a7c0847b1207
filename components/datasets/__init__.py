"""Benchmarks: a corpus with samples."""
