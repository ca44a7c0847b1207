"""How texts are split: into words that are indexed, or into tokens that lengths are counted in."""
