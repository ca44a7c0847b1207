"""Make other texts of a corpus before it is cut into chunks."""
