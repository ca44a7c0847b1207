"""The best reranker for each top-level subset of a benchmark, chosen on a share of its questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import ListReranker, Reranker, RerankerCascade


@dataclass(frozen=True)
class Selected:
    """Candidate rerankers, from which each top-level subset uses the one with the best `metric`.

    The choice is made on a `share` of the labelled samples. The chosen reranker is used for all samples of the subset,
    but results are reported for the others only. Groups of dependent samples (of a conversation or a gold document) are
    never split. `seed` draws the samples for the choice. This component computes nothing itself: each candidate equals
    the reranker of a cell that uses it alone, and shares its scores.

    Source: Lee and Roh 2024, "Multi-Reranker: Maximizing performance of retrieval-augmented generation in the
    FinanceRAG challenge", Table 2, where a reranker is chosen for each set. Excluding the samples of the choice from
    the results is our addition.
    """

    candidates: Mapping[str, Reranker | ListReranker | RerankerCascade]
    metric: str = "ndcg@10"
    share: float = 0.3
    seed: int = 0

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Hash the candidates in their order, which breaks ties."""
        return hash((tuple(self.candidates.items()), self.metric, self.share, self.seed))

    def check(self) -> list[str]:
        """Return error messages for too few candidates, and for a share that leaves no samples for the choice or the
        results.
        """
        problems = []
        if len(self.candidates) < 2:
            problems.append(f"candidates: got {len(self.candidates)}, expected at least two to choose from")
        if not 0 < self.share < 1:
            problems.append(f"share: got {self.share}, expected a share above 0 and below 1")
        return problems
