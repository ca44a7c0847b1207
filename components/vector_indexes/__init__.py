"""Nearest neighbours of vectors."""
