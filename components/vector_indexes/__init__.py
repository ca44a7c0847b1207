"""Indexes that find the nearest neighbours of vectors."""
