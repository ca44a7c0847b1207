"""Making evaluation data of a corpus: topics, tasks, places of quotes, gates."""
