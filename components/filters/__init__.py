"""Filters, which restrict a search to some documents."""
