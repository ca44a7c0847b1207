"""Hydra configuration: one folder per group, one file per named choice."""
