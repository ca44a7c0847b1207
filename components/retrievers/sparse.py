"""Retrieval by shared terms, without a second search."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Fusion, SparseIndex
from components.retrievers.arms import ByTerms, depth_problems


@dataclass(frozen=True)
class Sparse:
    """Finds the `depth` best chunks by shared terms, independent of top_k.

    `fusion` is needed only for an expander with several queries per sample.
    """

    sparse_index: SparseIndex
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByTerms]:
        """The sparse arm, its only one."""
        return (ByTerms(self.sparse_index),)

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)
