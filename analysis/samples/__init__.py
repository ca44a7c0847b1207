"""Samples one by one: question, answers, and where the evidence was, in one or two cells."""

from analysis.samples.stories import stories

__all__ = ["stories"]
