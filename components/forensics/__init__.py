"""Where and why a sample of a cell failed, told without a model: by rules over what the cell kept of it."""
