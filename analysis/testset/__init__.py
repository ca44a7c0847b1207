"""Inspection of made evaluation data: accepted and rejected drafts, with passages and reasons."""
