"""Generators, which turn a sample and its passages into an answer with one or several requests."""
