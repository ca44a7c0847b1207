"""Rerankers one after another, each of fewer hits than the one before."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from components.protocols import ListReranker, Reranker


@dataclass(frozen=True)
class Cascade:
    """Every step orders the first hits of the step before it, as many as its own `depth`: a light model many, a precise
    one few. What is behind them stays behind. It does nothing itself: each step is what a cell has that uses it alone,
    and shares its scores.

    Source: Wang, Lin and Metzler 2011, "A Cascade Ranking Model for Efficient Ranked Retrieval"; of neural rerankers
    Nogueira et al. 2019, "Multi-Stage Document Ranking with BERT", section 3.
    """

    steps: Mapping[str, Reranker | ListReranker]

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Of the steps in their order."""
        return hash(tuple(self.steps.items()))

    def check(self) -> list[str]:
        """No step at all, and one that orders more hits than the step before it."""
        mistakes = [] if self.steps else ["steps: got none, expected at least one (for none, reranker=none)"]
        return mistakes + [
            f"steps.{name}.depth: got {step.depth}, more than the {before.depth} of steps.{name_before} before it, "
            "expected at most as many: a later step looks at what an earlier one put first"
            for (name_before, before), (name, step) in pairwise(self.steps.items())
            if step.depth > before.depth
        ]
