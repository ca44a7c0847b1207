"""Iterative searches, which alternate with requests to a language model."""
