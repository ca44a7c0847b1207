"""Retrieval by embedding, without a second search."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Embedder, Fusion, VectorIndex
from components.retrievers.arms import ByEmbedding, depth_problems


@dataclass(frozen=True)
class Dense:
    """Finds the `depth` nearest chunks by embedding, independent of top_k.

    `fusion` is needed only for an expander with several queries per sample.
    """

    embedder: Embedder
    vector_index: VectorIndex
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByEmbedding]:
        """The dense arm, its only one."""
        return (ByEmbedding(self.embedder, self.vector_index),)

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)
