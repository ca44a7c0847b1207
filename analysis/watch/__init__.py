"""python -m analysis watch: shows the progress of a running sweep, in the terminal or on a page."""
