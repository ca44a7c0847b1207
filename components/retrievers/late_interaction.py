"""Retrieval by late interaction between the tokens of query and chunk, without a second search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from components.protocols import Fusion, TokenVectorEncoder
from components.retrievers.arms import (
    ByEmbedding,
    ByEncodedVector,
    ByLateInteraction,
    ByTerms,
    ByTokenWeights,
    depth_problems,
)


@dataclass(frozen=True)
class LateInteractionSearch:
    """Finds the `depth` best chunks by ColBERT's score over the token vectors of an encoder.

    Without `candidates` it compares each query with all chunks, which suits small corpora. With candidates, by any
    name, it ranks the union of their first `depth` hits. `fusion` is needed only for an expander with several queries
    per sample.
    Sources: Khattab and Zaharia 2020, "ColBERT", sections 3.5 and 3.6; Santhanam et al. 2022, "ColBERTv2".
    """

    encoder: TokenVectorEncoder
    candidates: Mapping[str, ByEmbedding | ByTerms | ByEncodedVector | ByTokenWeights] = field(default_factory=dict)
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Hash the candidates in any order."""
        return hash((self.encoder, frozenset(self.candidates.items()), self.depth, self.fusion))

    @property
    def arms(self) -> tuple[ByLateInteraction]:
        """The arm of token vectors, its only one."""
        return (ByLateInteraction(self.encoder, tuple(self.candidates.values())),)

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)
