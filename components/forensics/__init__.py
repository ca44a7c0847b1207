"""Where and why a sample of a cell failed, determined without a model by rules over the cell's stored results."""
