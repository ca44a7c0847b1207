"""Functions, chains and engines of the user's own package, which components call."""
