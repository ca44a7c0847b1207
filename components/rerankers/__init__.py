"""Rerankers: components that score hits again, with more effort per pair than a search can afford."""
