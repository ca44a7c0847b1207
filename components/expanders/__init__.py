"""Samples as queries."""
