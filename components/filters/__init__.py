"""Say which documents may be found."""
