"""Traces in MLflow: what a cell did for a sample."""
