"""Writes the pipeline of a cell as a folder that answers questions."""
