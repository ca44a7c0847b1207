"""Retrieval by shared terms alone."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Fusion, SparseIndex
from components.retrievers.arms import ByTerms, depth_mistakes


@dataclass(frozen=True)
class Sparse:
    """Best chunks by shared terms; `depth` hits are kept per query, whatever top_k is. `fusion` is only needed for an
    expander with several queries per sample.
    """

    sparse_index: SparseIndex
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByTerms]:
        """The one search."""
        return (ByTerms(self.sparse_index),)

    def check(self) -> list[str]:
        """Mistakes of depth."""
        return depth_mistakes(self.depth)
