"""The parts of a retrieval-augmented generation pipeline: one folder per role, one file per component."""
