"""Weighted sums of normalized scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.fusions.union import ranking_weights, sum_by_chunk
from components.records import Hits
from components.text.ranking import scaled_scores


@dataclass(frozen=True)
class WeightedScores:
    """Sums weighted scores, mapped to [0, 1] per query and ranking (best hit 1, last hit 0; if all are equal, 1).

    `dense_weight` is the weight of the dense ranking; the sparse one has the rest. A chunk that is missing in a ranking
    gets 0 from it.
    """

    dense_weight: float = 0.5

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return an error message for a weight outside [0, 1]."""
        return (
            []
            if 0 <= self.dense_weight <= 1
            else [f"dense_weight: got {self.dense_weight}, expected a share in [0, 1]"]
        )

    @property
    def weights(self) -> tuple[float, float]:
        """Weights of the dense and the sparse ranking."""
        return (self.dense_weight, 1 - self.dense_weight)

    def fuse(self, rankings: Sequence[Hits], depth: int) -> Hits:
        """Return the `depth` best hits per query of the union."""
        weights = ranking_weights(self.weights, len(rankings))
        parts = [weight * scaled_scores(hits) for weight, hits in zip(weights, rankings, strict=True)]
        return sum_by_chunk([hits.chunk for hits in rankings], parts, depth)
