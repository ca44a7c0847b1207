"""Joining rankings."""
