"""Evaluation data: making it from a corpus, inspecting it with people, releasing and describing it."""
