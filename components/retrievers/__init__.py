"""Retrievers: components that define how a cell finds chunks."""
