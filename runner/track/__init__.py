"""Logs a sweep to MLflow from its results."""
