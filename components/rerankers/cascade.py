"""Rerankers in sequence. Each one scores fewer hits than the previous one."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from components.protocols import ListReranker, Reranker


@dataclass(frozen=True)
class Cascade:
    """Rerankers that run one after another: a fast one on many hits, a precise one on few.

    Each step reorders the first hits of the previous step, up to its own `depth`; the other hits stay behind. The
    cascade computes nothing itself. Each step equals the reranker of a cell that uses it alone, and shares its scores.

    Source: Wang, Lin and Metzler 2011, "A Cascade Ranking Model for Efficient Ranked Retrieval"; of neural rerankers
    Nogueira et al. 2019, "Multi-Stage Document Ranking with BERT", section 3.
    """

    steps: Mapping[str, Reranker | ListReranker]

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Hash the steps in their order."""
        return hash(tuple(self.steps.items()))

    def check(self) -> list[str]:
        """Return error messages for a missing step, and for a step with more hits than the previous one."""
        problems = [] if self.steps else ["steps: got none, expected at least one (for none, reranker=none)"]
        return problems + [
            f"steps.{name}.depth: got {step.depth}, expected at most {before.depth}, the depth of steps.{name_before}: "
            "a step reorders the first hits of the previous one"
            for (name_before, before), (name, step) in pairwise(self.steps.items())
            if step.depth > before.depth
        ]
