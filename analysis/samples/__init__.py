"""Samples one by one: what was asked, what came, where the evidence was, and what two cells made of it."""

from analysis.samples.stories import stories

__all__ = ["stories"]
