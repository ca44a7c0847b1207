"""Language models and their stand-ins: they turn requests into answers."""
