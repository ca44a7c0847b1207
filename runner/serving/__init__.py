"""Answers questions with the pipeline of one cell, from a folder that `python -m runner.export` wrote.

The stages are the same as in a sweep, computed for one question at a time and stored only in memory. The answers are
therefore the same as in the sweep.
"""
