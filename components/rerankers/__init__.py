"""Scoring hits anew."""
