"""Keeps, plans and runs stages; knows no step of the pipeline."""
