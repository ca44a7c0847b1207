"""Requests whose replies must be parsed: templates, parsing and retries."""
