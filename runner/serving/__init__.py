"""Answering questions with the pipeline of one cell, from the folder that `python -m runner.export` wrote.

The stages are those of a sweep, made of one question at a time and kept in memory alone: what a sweep would answer is
what is answered here.
"""
