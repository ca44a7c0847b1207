"""Retrieval by the three heads of one encoder, fused."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Fusion, ThreeWayEncoder, TokenIndex, VectorIndex
from components.retrievers.arms import (
    ByEncodedVector,
    ByLateInteraction,
    ByTokenWeights,
    depth_mistakes,
    weight_mistakes,
)


@dataclass(frozen=True)
class ThreeWay:
    """Three rankings at `depth`, fused by chunk: by the vectors of whole texts, by the weights of shared tokens, and by
    late interaction between the tokens' vectors. The encoder reads every chunk once for all three.

    Late interaction ranks the hits of the other two; with `exhaustive` it searches all chunks, which takes a product of
    vectors for every token of every query and every token of the corpus.
    Source: Chen et al. 2024, "M3-Embedding", section 3.2 (hybrid retrieval), with a fusion of choice.
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
        """The three searches: dense, sparse, multi-vector."""
        dense = ByEncodedVector(self.encoder, self.vector_index)
        sparse = ByTokenWeights(self.encoder, self.token_index)
        return dense, sparse, ByLateInteraction(self.encoder, () if self.exhaustive else (dense, sparse))

    def check(self) -> list[str]:
        """Mistakes of depth and of the fusion's weights."""
        return [*depth_mistakes(self.depth), *weight_mistakes(self.fusion, 3)]
