"""Training a judge on people's labels."""
