"""Refiners: components that rewrite the texts of a corpus before it is split into chunks."""
