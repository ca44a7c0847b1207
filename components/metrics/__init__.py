"""Score answers, rankings and contexts."""
