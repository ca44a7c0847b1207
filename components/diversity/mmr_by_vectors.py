"""Maximal marginal relevance by the vectors of chunks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.diversity.marginal_relevance import by_marginal_relevance, range_errors
from components.protocols import Embedder
from components.records import Hits


@dataclass(frozen=True)
class MmrByVectors:
    """Maximal marginal relevance with the cosine of vectors as the similarity of hits.

    `relevance_weight` is lambda in the paper: 1 keeps the ranking, 0 considers novelty only. It reorders `depth` hits
    per query.
    """

    embedder: Embedder
    relevance_weight: float = 0.7
    depth: int = 100

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        return range_errors(self.depth, self.relevance_weight)

    def diversify_vectors(self, hits: Hits, vectors: NDArray[np.float32]) -> Hits:
        """Return the hits with the first `depth` per query reordered. `vectors` has one row per chunk."""

        def similarity(chunks: NDArray[np.int32]) -> NDArray[np.float64]:
            own = np.asarray(vectors[chunks], dtype=np.float64)
            length = np.linalg.norm(own, axis=1, keepdims=True)
            own = np.divide(own, length, out=np.zeros_like(own), where=length > 0)
            cosine: NDArray[np.float64] = own @ own.T
            return cosine

        return by_marginal_relevance(hits, self.depth, self.relevance_weight, similarity)
