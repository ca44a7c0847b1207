"""Rerankers: components that reorder hits."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import WithTokenVectors
from components.protocols.component import Component
from components.protocols.embedding import ThreeWayEncoder, TokenVectorEncoder
from components.protocols.language_models import LLM, Ask
from components.protocols.tokenizing import WordTokenizer
from components.records import HitOrder, Passages


@runtime_checkable
class Reranker(Component, Protocol):
    """A component that scores (query, chunk) pairs."""

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Set for rerankers that read terms instead of raw text; see `Embedder`."""

    @property
    def depth(self) -> int:
        """Number of hits per query that it scores; 0 for no reranking."""

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs] for int32[n_pairs, 2] of (query, chunk) positions; larger is better.

        Hits with equal scores keep their previous order.
        """


@runtime_checkable
class SlowReranker(Reranker, Protocol):
    """A slow reranker, whose scores are cached in blocks. An interrupted run loses at most one block."""

    n_pairs_per_block: ClassVar[int]
    """Maximum number of pairs per call of `score`; the work of a few minutes."""


@runtime_checkable
class ListReranker(Component, Protocol):
    """A component that reorders the hits of each query by requests to a language model."""

    @property
    def llm(self) -> "LLM":
        """The language model of its requests."""

    @property
    def depth(self) -> int:
        """Number of hits per query that it reorders."""

    def n_requests(self, n_hits: int) -> int:
        """Return the number of requests for a query with `n_hits` hits, not counting retries of unreadable replies."""

    def n_rounds(self, n_hits: int) -> int:
        """Return the number of consecutive rounds of requests for one query."""

    def rank(self, queries: Sequence[str], hits: Sequence[Sequence[str]], ask: "Ask") -> list[HitOrder]:
        """Return one HitOrder per query. `hits` are the texts of its hits, best first.

        The HitOrder reports a reply that cannot be parsed after a retry, and a request that failed permanently. Neither
        moves a hit.
        """


@runtime_checkable
class EncodedReranker(Reranker, Protocol):
    """A reranker that scores the output of an encoder. Each chunk is encoded once, and its encoding is cached."""

    @property
    def encoder(self) -> ThreeWayEncoder | TokenVectorEncoder:
        """The encoder of chunks and queries."""

    def score_encoded(
        self, queries: WithTokenVectors, chunks: WithTokenVectors, pairs: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return the scores of encoded pairs; see `score`."""


PlainReranker = Reranker | ListReranker
"""A single reranker of either kind."""


@runtime_checkable
class RerankerCascade(Component, Protocol):
    """A component that lists rerankers to run one after another. It computes nothing itself."""

    @property
    def steps(self) -> Mapping[str, PlainReranker]:
        """The rerankers by name, in the order in which they run."""


@runtime_checkable
class RerankerSelection(Component, Protocol):
    """A component that lists candidate rerankers. The best one is chosen for each set of a benchmark."""

    @property
    def candidates(self) -> Mapping[str, Reranker | ListReranker | RerankerCascade]:
        """The candidates by name. The first one wins a tie."""

    @property
    def metric(self) -> str:
        """The ranking metric that compares them."""

    @property
    def share(self) -> float:
        """Share of the labelled samples used for the comparison. No aggregate includes these samples."""

    @property
    def seed(self) -> int:
        """Seed that draws these samples."""


AnyReranker = Reranker | ListReranker | RerankerCascade | RerankerSelection
"""Every kind of reranker that a cell can have."""
