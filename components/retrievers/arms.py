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


def depth_mistakes(depth: int) -> list[str]:
    """What is wrong with the number of hits kept per query. One beyond the number of chunks keeps all of them."""
    return [] if depth >= 1 else [f"depth: got {depth}, wanted at least 1 hit per query"]
