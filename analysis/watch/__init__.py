"""python -m analysis watch: how far a running sweep is, in the terminal or on a page."""
