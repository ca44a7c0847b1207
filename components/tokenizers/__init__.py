"""How texts are split: into words to be indexed, or into tokens in which lengths are counted."""
