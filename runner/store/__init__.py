"""Lists, verifies and prunes the store of stage results."""
