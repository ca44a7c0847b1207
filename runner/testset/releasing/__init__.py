"""A released set of documents and samples, and its files."""
