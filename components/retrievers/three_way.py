"""Retrieval by the three heads of one encoder, fused."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Fusion, ThreeWayEncoder, TokenIndex, VectorIndex
from components.retrievers.arms import (
    ByEncodedVector,
    ByLateInteraction,
    ByTokenWeights,
    depth_problems,
    weight_problems,
)


@dataclass(frozen=True)
class ThreeWay:
    """Fuses three rankings at `depth` by chunk: by vectors of whole texts, by weights of shared tokens, and by late
    interaction between token vectors. The encoder reads every chunk once for all three.

    Late interaction reranks the hits of the other two. With `exhaustive` it searches all chunks, which needs a product
    of vectors for every pair of a query token and a corpus token.
    Source: Chen et al. 2024, "M3-Embedding", section 3.2 (hybrid retrieval), with a configurable fusion.
    """

    encoder: ThreeWayEncoder
    vector_index: VectorIndex
    token_index: TokenIndex
    fusion: Fusion
    depth: int = 100
    exhaustive: bool = False

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByEncodedVector, ByTokenWeights, ByLateInteraction]:
        """The dense, the sparse and the multi-vector arm."""
        dense = ByEncodedVector(self.encoder, self.vector_index)
        sparse = ByTokenWeights(self.encoder, self.token_index)
        return dense, sparse, ByLateInteraction(self.encoder, () if self.exhaustive else (dense, sparse))

    def check(self) -> list[str]:
        """Return error messages for a depth below 1, and for weights of the fusion that do not fit its searches."""
        return [*depth_problems(self.depth), *weight_problems(self.fusion, 3)]
