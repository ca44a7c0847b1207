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
            chunk_vectors = np.asarray(vectors[chunks], dtype=np.float64)
            length = np.linalg.norm(chunk_vectors, axis=1, keepdims=True)
            chunk_vectors = np.divide(chunk_vectors, length, out=np.zeros_like(chunk_vectors), where=length > 0)
            cosine: NDArray[np.float64] = chunk_vectors @ chunk_vectors.T
            return cosine

        return by_marginal_relevance(hits, self.depth, self.relevance_weight, similarity)
