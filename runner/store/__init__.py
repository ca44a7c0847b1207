"""Looking after the store of stage results."""
