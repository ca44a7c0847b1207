"""Scores of answers and rankings of other systems."""
