"""The retrievers as a user names them: which indexes are asked, and how their rankings are joined.

They hold no behaviour: `runner/stages.py` reads them, so that the searches of `dense` and `bm25` are the very ones
that `hybrid` fuses.
"""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Fusion, SparseIndex, VectorIndex


def _depth_mistakes(depth: int) -> list[str]:
    return [] if depth >= 1 else [f"depth: got {depth}, wanted at least 1 hit per query"]


@dataclass(frozen=True)
class ClosedBook:
    """No retrieval: the model answers from its own knowledge."""

    version: ClassVar[int] = 1
    vector_index: ClassVar[None] = None
    sparse_index: ClassVar[None] = None
    fusion: ClassVar[None] = None
    depth: ClassVar[int] = 0


@dataclass(frozen=True)
class Dense:
    """Nearest chunks by embedding; `depth` hits are kept per query, whatever top_k is."""

    vector_index: VectorIndex
    depth: int = 100

    version: ClassVar[int] = 1
    sparse_index: ClassVar[None] = None
    fusion: ClassVar[None] = None

    def check(self) -> list[str]:
        """Mistakes of depth."""
        return _depth_mistakes(self.depth)


@dataclass(frozen=True)
class Sparse:
    """Best chunks by shared terms; `depth` hits are kept per query, whatever top_k is."""

    sparse_index: SparseIndex
    depth: int = 100

    version: ClassVar[int] = 1
    vector_index: ClassVar[None] = None
    fusion: ClassVar[None] = None

    def check(self) -> list[str]:
        """Mistakes of depth."""
        return _depth_mistakes(self.depth)


@dataclass(frozen=True)
class Hybrid:
    """Both searches at `depth`, fused by chunk."""

    vector_index: VectorIndex
    sparse_index: SparseIndex
    fusion: Fusion
    depth: int = 100

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Mistakes of depth."""
        return _depth_mistakes(self.depth)
