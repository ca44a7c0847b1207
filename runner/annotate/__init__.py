"""People inspect and correct a released set, and what they said becomes a new version of it."""
