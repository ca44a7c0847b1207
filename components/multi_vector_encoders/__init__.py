"""Encoders that compute a vector for every token of a text, for late interaction."""
