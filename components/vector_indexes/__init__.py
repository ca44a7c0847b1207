"""Indexes for the nearest vectors."""
