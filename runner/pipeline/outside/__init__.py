"""Scores of answers and rankings that another system made."""
