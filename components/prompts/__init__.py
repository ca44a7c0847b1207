"""Writing the messages for a model."""
