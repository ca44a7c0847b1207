"""Expanders, which turn samples into queries."""
