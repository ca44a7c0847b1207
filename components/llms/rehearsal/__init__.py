"""Rehearsing a run of making evaluation data without a model."""
