"""Score hits again, with more effort per pair than a search can spend."""
