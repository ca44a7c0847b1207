"""Make questions with gold from a corpus."""
