"""Making evaluation data of a corpus: what the commands that do it have in common."""
