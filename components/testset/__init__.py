"""Generation of evaluation data from a corpus: topics, tasks, located quotes, gates."""
