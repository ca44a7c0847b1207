"""Rankings by the terms that a chunk shares with a query."""
