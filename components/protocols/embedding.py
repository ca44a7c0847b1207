"""Vectors of texts."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings
from components.protocols.component import Component, EmbedderState
from components.protocols.tokenizing import WordTokenizer
from components.records import Passages


@runtime_checkable
class Embedder(Component, Protocol):
    """Maps texts to vectors: of unit length, unless a field of the embedder says otherwise, or zero where the text has
    nothing to embed.
    """

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Set for embedders that read terms instead of raw text: `Passages.terms` is then filled."""

    def fit(self, documents: Passages) -> EmbedderState:
        """What must be learned from the corpus; {} for a pretrained model. Independent of the chunking."""

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, n_dimensions]."""

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_queries, n_dimensions]."""


@runtime_checkable
class PretrainedEmbedder(Embedder, Protocol):
    """An embedder that learns nothing from a corpus: `fit` is passed no documents. Vectors of texts that stay are kept
    when a corpus grows.
    """

    is_pretrained: ClassVar[Literal[True]]


@runtime_checkable
class SlowEmbedder(Embedder, Protocol):
    """An embedder that takes its time for every text: vectors are kept block by block, and a kill loses one of them."""

    @property
    def n_chunks_per_block(self) -> int:
        """So many chunks at most are passed to `embed_chunks` at once: some minutes of work."""


@runtime_checkable
class AsksInBatches(Component, Protocol):
    """An embedder or a reranker behind a server, whose requests the plan can count before they are sent. Blank texts
    are in none of them. An embedder's are made of texts in their order, and `fit` takes one; a reranker's hold chunks
    of one query.
    """

    @property
    def account(self) -> object:
        """As for `LLM`."""

    @property
    def batch_size(self) -> int:
        """Texts in a request, at most; of a reranker, chunks."""


@runtime_checkable
class KeysRequests(Protocol):
    """An embedder behind a server whose vectors are kept one by one, until their stage has all of them."""

    def request_keys(self, texts: Sequence[str], *, are_queries: bool) -> list[str]:
        """A key for the vector of each text."""


@runtime_checkable
class KnowsDimensions(Protocol):
    """An embedder that can tell how long its vectors will be: an index that wants longer ones is then refused before
    any work.
    """

    def most_dimensions(self) -> int | None:
        """Dimensions of its vectors, at most; None if that is not known. Nothing is loaded or fetched to find out."""


@runtime_checkable
class ReadsTokens(Protocol):
    """A component whose model reads so many tokens and cuts off the rest. An embedder's model reads one text at a time,
    a reranker's a query and a chunk together.
    """

    def token_limit(self) -> int | None:
        """Tokens that are read at once; None for any number. No weights are loaded to find out."""

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """int64[n_texts]: the tokens of each query, with what is put around it. No weights are loaded to find out."""

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Like `count_query_tokens`, of chunks."""


@runtime_checkable
class ThreeWayEncoder(Component, Protocol):
    """Makes three things of a text in one pass: a vector, weights of its tokens, and vectors of its tokens."""

    def encode_chunks(self, chunks: Passages) -> Encodings:
        """A row of each per chunk."""

    def encode_queries(self, queries: Passages) -> Encodings:
        """A row of each per query, comparable with those of chunks by inner product."""
