"""Indexes that rank chunks by the terms they share with a query."""
