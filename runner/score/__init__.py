"""Scores answers and rankings that any system produced."""
