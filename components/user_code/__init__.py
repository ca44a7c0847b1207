"""Functions, chains and engines in the user's package, which components call."""
