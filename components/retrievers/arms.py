"""The arms of retrievers. They only hold fields, which the pipeline reads, so that `hybrid` fuses exactly
the searches of `dense` and `bm25`. No field has a default.
"""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import (
    Embedder,
    FactReader,
    Fusion,
    PassageGraph,
    SparseIndex,
    ThreeWayEncoder,
    TokenIndex,
    TokenVectorEncoder,
    TokenWeigher,
    VectorIndex,
)


@dataclass(frozen=True)
class ByEmbedding:
    """Nearest chunks by embedding (a DenseArm).

    `embedder` turns chunks and queries into vectors, and `vector_index` searches the vectors of chunks.
    """

    embedder: Embedder
    vector_index: VectorIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByTerms:
    """Best chunks by shared terms (a SparseArm).

    `sparse_index` ranks the chunks, and has the tokenizer that splits chunks and queries into words.
    """

    sparse_index: SparseIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByEncodedVector:
    """Nearest chunks by an encoder's vectors of whole texts (an EncodedDenseArm).

    Only the text vectors are read, one of the three outputs of `encoder`. `vector_index` searches the vectors of
    chunks.
    """

    encoder: ThreeWayEncoder
    vector_index: VectorIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByTokenWeights:
    """Best chunks by an encoder's weights of shared tokens (an EncodedSparseArm).

    `encoder` weighs the tokens of chunks and queries, and `token_index` ranks the chunks by these weights.
    """

    encoder: ThreeWayEncoder | TokenWeigher
    token_index: TokenIndex

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByLateInteraction:
    """Best candidates by their token vectors (a LateInteractionArm).

    `encoder` computes the token vectors of chunks and queries. `candidates` are the arms whose hits are ranked by them;
    with an empty tuple, all chunks are ranked.
    """

    encoder: ThreeWayEncoder | TokenVectorEncoder
    candidates: tuple[ByEmbedding | ByTerms | ByEncodedVector | ByTokenWeights, ...]

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class ByGraph:
    """Best chunks by a graph of the facts that a language model reads from them (a GraphArm).

    `extractor` reads the facts, `embedder` turns their phrases and the queries into vectors, and `graph` is built from
    both and ranks the chunks.
    """

    embedder: Embedder
    extractor: FactReader
    graph: PassageGraph

    version: ClassVar[int] = 1


def depth_problems(depth: int) -> list[str]:
    """Return an error message for a depth (hits per query) below 1. A depth above the number of chunks keeps all of
    them.
    """
    return [] if depth >= 1 else [f"depth: got {depth}, expected at least 1 hit per query"]


def weight_problems(fusion: Fusion, n_searches: int) -> list[str]:
    """Return an error message if the fusion has unequal weights, but not one per search."""
    weights = getattr(fusion, "weights", None)
    if weights is None or len(weights) == n_searches or len(set(weights)) <= 1:
        return []
    return [f"fusion: got weights {list(weights)}, expected {n_searches}, one per search, or equal weights"]
