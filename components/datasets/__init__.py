"""Data sets: a corpus, and samples with their gold evidence."""
