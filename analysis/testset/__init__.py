"""Looking through made evaluation data: what was accepted and rejected, with the passages and the reasons."""
