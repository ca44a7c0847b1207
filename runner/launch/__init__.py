"""Composes the jobs of a command line and runs them as a sweep. Only this package uses Hydra."""
