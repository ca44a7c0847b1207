"""From a command line to a sweep: Hydra stops here."""
