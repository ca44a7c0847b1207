"""Evaluation data: made from a corpus, inspected by people, released and described."""
