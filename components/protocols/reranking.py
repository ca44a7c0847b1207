"""New orders of hits."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings
from components.protocols.component import Component
from components.protocols.embedding import ThreeWayEncoder
from components.protocols.language_models import LLM, Ask
from components.protocols.tokenizing import WordTokenizer
from components.records import HitOrder, Passages


@runtime_checkable
class Reranker(Component, Protocol):
    """Scores (query, chunk) pairs anew."""

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """As for Embedder."""

    @property
    def depth(self) -> int:
        """How many hits per query are scored; 0 for none at all."""

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[n_pairs], larger is better, for int32[n_pairs, 2] of (query, chunk) positions. Hits with equal scores
        keep the order of the ranking before.
        """


@runtime_checkable
class SlowReranker(Reranker, Protocol):
    """A reranker that takes its time for every pair: scores are kept block by block, and a kill loses one at most."""

    n_pairs_per_block: ClassVar[int]
    """So many pairs at most are passed to `score` at once: some minutes of work."""


@runtime_checkable
class ListReranker(Component, Protocol):
    """Puts the hits of each query into another order by asking a language model about them."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked."""

    @property
    def depth(self) -> int:
        """How many hits per query are put in order."""

    def n_requests(self, n_hits: int) -> int:
        """Requests for a query with this many hits, if every reply can be read."""

    def n_rounds(self, n_hits: int) -> int:
        """How often the model is asked about one query, each time after the reply before."""

    def rank(self, queries: Sequence[str], hits: Sequence[Sequence[str]], ask: "Ask") -> list[HitOrder]:
        """One HitOrder per query; `hits` are the texts of its hits, best first. A reply that cannot be read (after
        asking again) and a request that failed for good are told there, and neither moves a hit.
        """


@runtime_checkable
class EncodedReranker(Reranker, Protocol):
    """A reranker that scores what an encoder made of queries and chunks: chunks are then encoded once, and kept."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    def score_encoded(self, queries: Encodings, chunks: Encodings, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """As `score`."""


PlainReranker = Reranker | ListReranker
"""A reranker of one kind or of the other."""


@runtime_checkable
class RerankerCascade(Component, Protocol):
    """Rerankers one after another; it does nothing itself."""

    @property
    def steps(self) -> Mapping[str, PlainReranker]:
        """By name, in the order in which they rank."""


@runtime_checkable
class RerankerSelection(Component, Protocol):
    """Rerankers of which the best is chosen for each set of a benchmark; it does nothing itself."""

    @property
    def candidates(self) -> Mapping[str, Reranker | ListReranker | RerankerCascade]:
        """By name; of equal ones the first is chosen."""

    @property
    def metric(self) -> str:
        """A metric of rankings, by which they are compared."""

    @property
    def share(self) -> float:
        """Of the labelled samples, on which they are compared: these are reported in no aggregate."""

    @property
    def seed(self) -> int:
        """By which these are drawn."""


AnyReranker = Reranker | ListReranker | RerankerCascade | RerankerSelection
"""What a cell has."""
