"""Train a judge on human labels."""
