"""Revisers: a check of each answer against its passages, and what follows from it."""
