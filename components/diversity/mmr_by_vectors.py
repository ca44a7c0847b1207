"""Maximal marginal relevance by the chunks' vectors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.diversity.marginal_relevance import by_marginal_relevance, mistakes_of
from components.protocols import Embedder
from components.records import Hits


@dataclass(frozen=True)
class MmrByVectors:
    """Hits are as similar as their vectors are, by cosine. `relevance_weight` is the paper's lambda: 1 leaves the
    ranking as it is, 0 looks for what is new alone. `depth` hits per query are put in order.
    """

    embedder: Embedder
    relevance_weight: float = 0.7
    depth: int = 100

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Numbers out of range."""
        return mistakes_of(self.depth, self.relevance_weight)

    def diversify_vectors(self, hits: Hits, vectors: NDArray[np.float32]) -> Hits:
        """The hits in their new order."""

        def similarity(chunks: NDArray[np.int32]) -> NDArray[np.float64]:
            own = np.asarray(vectors[chunks], dtype=np.float64)
            length = np.linalg.norm(own, axis=1, keepdims=True)
            own = np.divide(own, length, out=np.zeros_like(own), where=length > 0)
            cosine: NDArray[np.float64] = own @ own.T
            return cosine

        return by_marginal_relevance(hits, self.depth, self.relevance_weight, similarity)
