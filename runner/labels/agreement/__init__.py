"""Compares a judge with human labels."""
