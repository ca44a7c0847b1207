"""Makes questions with gold from a corpus."""
