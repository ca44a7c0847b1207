"""Stages of the search: queries, the hits of each arm, fused and filtered."""
