"""Topics, and their assignment to documents."""
