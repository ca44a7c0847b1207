"""python -m runner.generate: evaluation data of a corpus."""
