"""Answering requests."""
