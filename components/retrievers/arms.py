"""The searches that retrievers are made of. They hold no behaviour: the pipeline reads them, so that the searches of
`dense` and `bm25` are the very ones that `hybrid` fuses.
"""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Embedder, SparseIndex, VectorIndex


@dataclass(frozen=True)
class ByEmbedding:
    """Nearest chunks by embedding (a DenseArm)."""

    embedder: Embedder
    vector_index: VectorIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByTerms:
    """Best chunks by shared terms (a SparseArm)."""

    sparse_index: SparseIndex

    version: ClassVar[int] = 1


_DEEPEST = 100_000


def depth_mistakes(depth: int) -> list[str]:
    """What is wrong with the number of hits kept per query, for which there is room in every query's row."""
    is_possible = 1 <= depth <= _DEEPEST
    return [] if is_possible else [f"depth: got {depth}, wanted 1 to {_DEEPEST:,} hits per query"]
