"""Turns the results of stages into cells' files, tables in the terminal, figures and runs in MLflow."""
