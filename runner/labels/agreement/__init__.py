"""Compare a judge with human labels."""
