"""A test set of documents and samples, and its files."""
