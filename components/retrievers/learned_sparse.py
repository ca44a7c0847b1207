"""Retrieval by learned sparse vectors, without a second search."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Fusion, TokenIndex, TokenWeigher
from components.retrievers.arms import ByTokenWeights, depth_problems


@dataclass(frozen=True)
class LearnedSparse:
    """Finds the `depth` best chunks by the token weights that an encoder gives to query and chunk.

    `fusion` is needed only for an expander with several queries per sample.
    Source: Formal et al. 2021, "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking".
    """

    encoder: TokenWeigher
    token_index: TokenIndex
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByTokenWeights]:
        """The arm of token weights, its only one."""
        return (ByTokenWeights(self.encoder, self.token_index),)

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)
