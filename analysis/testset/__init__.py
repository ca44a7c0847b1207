"""Inspection of generated evaluation data: accepted and rejected drafts, with passages and reasons."""
