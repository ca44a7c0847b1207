"""Keep the first hits of a query from saying the same."""
