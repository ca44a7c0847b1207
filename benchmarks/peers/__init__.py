"""The same grid in rag-grid and in other tools: `python -m benchmarks.peers`."""
