"""Metrics of answers, rankings and contexts, and their confidence intervals."""
