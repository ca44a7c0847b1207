"""Builds traces for MLflow: the steps that a cell took for a sample, and the scores of the sample."""
