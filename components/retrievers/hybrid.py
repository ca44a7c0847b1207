"""Retrieval by embedding and by shared terms, fused."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Embedder, Fusion, SparseIndex, VectorIndex
from components.retrievers.arms import ByEmbedding, ByTerms, depth_problems, weight_problems


@dataclass(frozen=True)
class Hybrid:
    """Runs both searches at `depth` and fuses their hits by chunk. The dense ranking comes first."""

    embedder: Embedder
    vector_index: VectorIndex
    sparse_index: SparseIndex
    fusion: Fusion
    depth: int = 100

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByEmbedding, ByTerms]:
        """The dense and the sparse arm."""
        return (ByEmbedding(self.embedder, self.vector_index), ByTerms(self.sparse_index))

    def check(self) -> list[str]:
        """Return error messages for a depth below 1, and for weights of the fusion that do not fit its searches."""
        return [*depth_problems(self.depth), *weight_problems(self.fusion, len(self.arms))]
