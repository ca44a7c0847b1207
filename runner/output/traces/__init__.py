"""Samples of a sweep as traces: of which cells and samples, and what is told of each. Knows nothing of MLflow."""
