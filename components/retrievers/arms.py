"""The searches that retrievers are made of. They hold no behaviour: the pipeline reads them, so that the searches of
`dense` and `bm25` are the very ones that `hybrid` fuses.
"""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Embedder, Fusion, SparseIndex, ThreeWayEncoder, TokenIndex, VectorIndex


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


@dataclass(frozen=True)
class ByEncodedVector:
    """Nearest chunks by an encoder's vectors of whole texts (an EncodedDenseArm)."""

    encoder: ThreeWayEncoder
    vector_index: VectorIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByTokenWeights:
    """Best chunks by an encoder's weights of shared tokens (an EncodedSparseArm)."""

    encoder: ThreeWayEncoder
    token_index: TokenIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByLateInteraction:
    """Best of the candidates, or of all chunks if there are none, by their tokens' vectors (a LateInteractionArm)."""

    encoder: ThreeWayEncoder
    candidates: tuple[ByEncodedVector | ByTokenWeights, ...]

    version: ClassVar[int] = 1


def depth_mistakes(depth: int) -> list[str]:
    """What is wrong with the number of hits kept per query. One beyond the number of chunks keeps all of them."""
    return [] if depth >= 1 else [f"depth: got {depth}, expected at least 1 hit per query"]


def weight_mistakes(fusion: Fusion, n_searches: int) -> list[str]:
    """What is wrong with the number of a fusion's weights, if it weighs searches."""
    weights = getattr(fusion, "weights", None)
    if weights is None or len(weights) == n_searches or len(set(weights)) <= 1:
        return []
    return [f"fusion: got the weights {list(weights)}, expected {n_searches}, one per search, or equal ones"]
