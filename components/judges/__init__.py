"""Scoring answers and passages by asking a language model."""
