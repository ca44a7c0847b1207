"""Downloads published data sets by name."""
