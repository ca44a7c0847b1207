"""Statistics of a data set."""
