"""Reciprocal rank fusion, which reads only ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.fusions.union import out_of_range, ranking_weights, sum_by_chunk
from components.records import Hits


@dataclass(frozen=True)
class ReciprocalRank:
    """Scores a chunk by the sum over rankings of weight / (k + rank), with rank from 1. Source: Cormack et al. 2009.

    `weights` has one weight per arm of the retriever, in their order (`hybrid`: dense, sparse); empty for equal
    weights.
    """

    k: int = 60
    weights: tuple[float, ...] = (1.0, 1.0)

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = [] if self.k >= 0 else [f"k: got {self.k}, expected at least 0"]
        return [*problems, *out_of_range(self.weights)]

    def fuse(self, rankings: Sequence[Hits], depth: int) -> Hits:
        """Return the `depth` best hits per query of the union, with float32 scores."""
        parts = [
            np.broadcast_to(weight / (self.k + 1 + np.arange(hits.chunk.shape[1])), hits.chunk.shape)
            for weight, hits in zip(ranking_weights(self.weights, len(rankings)), rankings, strict=True)
        ]
        return sum_by_chunk([hits.chunk for hits in rankings], parts, depth)
