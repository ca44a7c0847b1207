"""Finding chunks."""
