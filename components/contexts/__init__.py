"""Choose which hits go into the prompt."""
