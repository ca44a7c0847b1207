"""The corpus of a cell: loaded, refined, cut into chunks, and put below headers."""
