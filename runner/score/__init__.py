"""Scoring answers and rankings that any system made."""
