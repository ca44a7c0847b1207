"""Scoring answers, rankings and contexts."""
