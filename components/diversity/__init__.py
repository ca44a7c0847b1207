"""Components that reduce redundancy among the first hits of a query."""
