"""Trying models out before a sweep: `python -m runner.models check embedder=... llm=...`."""
