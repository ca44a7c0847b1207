"""For each set of a benchmark the reranker that is best on some of its questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import ListReranker, Reranker, RerankerCascade


@dataclass(frozen=True)
class Selected:
    """For each top-level subset the candidate with the best `metric` on a `share` of its labelled samples is taken for
    all of its samples; results are reported on the others alone. Samples that depend on one another (of a conversation,
    of a gold document) are never split; which of them choose is drawn by `seed`. It does nothing itself: each candidate
    is what a cell has that uses it alone, and shares its scores.

    Source: Lee and Roh 2024, "Multi-Reranker: Maximizing performance of retrieval-augmented generation in the
    FinanceRAG challenge", Table 2, where a reranker is chosen for each set. That the questions which choose are not
    reported on is ours.
    """

    candidates: Mapping[str, Reranker | ListReranker | RerankerCascade]
    metric: str = "ndcg@10"
    share: float = 0.3
    seed: int = 0

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Of the candidates in their order, by which ties are decided."""
        return hash((tuple(self.candidates.items()), self.metric, self.share, self.seed))

    def check(self) -> list[str]:
        """Nothing to choose from, and a share that leaves nothing to choose on or to report."""
        mistakes = []
        if len(self.candidates) < 2:
            mistakes.append(f"candidates: got {len(self.candidates)}, expected two or more to choose from")
        if not 0 < self.share < 1:
            mistakes.append(f"share: got {self.share}, expected a share above 0 and below 1")
        return mistakes
