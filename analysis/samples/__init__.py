"""Samples one by one: question, answers, and the places of the evidence, in one or two cells."""

from analysis.samples.stories import stories

__all__ = ["stories"]
