"""Stages of a cell's corpus: loaded, refined, cut into chunks, with headers."""
