"""Which topics there are, and which of them documents belong to."""
