"""Embedders: components that compute vectors."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings, MultiEncodings, SparseEncodings
from components.protocols.component import Component, EmbedderState
from components.protocols.tokenizing import WordTokenizer
from components.records import Passages, Spans


@runtime_checkable
class Embedder(Component, Protocol):
    """A component that maps texts to vectors.

    Vectors have unit length, unless a field of the embedder says otherwise. Blank texts have zero vectors.
    """

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Set for embedders that read terms instead of raw text: `Passages.terms` is then filled."""

    def fit(self, documents: Passages) -> EmbedderState:
        """Return the state learned from the corpus; {} for a pretrained model. It does not depend on the chunking."""

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of the chunks, float32[n_chunks, n_dimensions]."""

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of the queries, float32[n_queries, n_dimensions]."""


@runtime_checkable
class PretrainedEmbedder(Embedder, Protocol):
    """An embedder that learns nothing from a corpus: `fit` gets no documents.

    When a corpus grows, the vectors of the unchanged texts are reused.
    """

    is_pretrained: ClassVar[Literal[True]]


@runtime_checkable
class DocumentEmbedder(Embedder, Protocol):
    """An embedder that can read chunks in the context of their documents."""

    @property
    def reads_documents(self) -> bool:
        """True if a chunk's vector depends on its document. `embed_in_documents` then replaces `embed_chunks`."""

    def embed_in_documents(self, documents: Sequence[str], chunks: Spans) -> NDArray[np.float32]:
        """Return the vectors of chunks of these documents, float32[n_chunks, n_dimensions]."""


@runtime_checkable
class SlowEmbedder(Embedder, Protocol):
    """A slow embedder, whose vectors are cached in blocks. An interrupted run loses at most one block."""

    @property
    def n_chunks_per_block(self) -> int:
        """Maximum number of chunks per call of `embed_chunks`; the work of a few minutes."""


@runtime_checkable
class AsksInBatches(Component, Protocol):
    """An embedder or a reranker behind a server, whose requests the plan can count in advance.

    Requests contain no blank texts. An embedder's requests hold consecutive texts, and its `fit` sends one request. A
    reranker's requests each hold chunks for a single query.
    """

    @property
    def account(self) -> object:
        """The account whose limits its requests count against; see `LLM`."""

    @property
    def batch_size(self) -> int:
        """Maximum number of texts per request; for a reranker, of chunks."""


@runtime_checkable
class KeysRequests(Protocol):
    """An embedder behind a server whose vectors are cached one by one until their stage is complete."""

    def request_keys(self, texts: Sequence[str], *, are_queries: bool) -> list[str]:
        """Return one cache key per text, for its vector."""


@runtime_checkable
class KnowsDimensions(Protocol):
    """An embedder that knows the length of its vectors in advance. An index that requires longer vectors is then
    rejected before any work.
    """

    def max_dimensions(self) -> int | None:
        """Return the maximum number of dimensions, None if unknown. It neither loads nor downloads a model."""


@runtime_checkable
class KnowsTokenBytes(Protocol):
    """An encoder of token vectors that knows their size in advance, so that the plan can report it."""

    def bytes_per_token(self) -> int | None:
        """Return the bytes of a token's vector, None if unknown. It neither loads nor downloads a model."""

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], the tokens per text; see `ReadsTokens`."""


@runtime_checkable
class ReadsTokens(Protocol):
    """A component whose model reads a limited number of tokens and cuts off the rest.

    An embedder's model reads one text at a time; a reranker's model reads a query and a chunk together.
    """

    def token_limit(self) -> int | None:
        """Return the maximum number of tokens per input; None for no limit. It loads no weights."""

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], the tokens per query, including prefixes and special tokens. It loads no weights."""

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], the tokens per chunk, including prefixes and special tokens. It loads no weights."""


@runtime_checkable
class ReadsQueriesInPart(ReadsTokens, Protocol):
    """A component whose model has different token limits for queries and chunks."""

    def query_token_limit(self) -> int | None:
        """Return the maximum number of tokens per query; None for no limit. It loads no weights."""


@runtime_checkable
class ThreeWayEncoder(Component, Protocol):
    """An encoder that computes three outputs per text in one pass: a vector, token weights, and token vectors."""

    def encode_chunks(self, chunks: Passages) -> Encodings:
        """Return one row per chunk in each of the three outputs."""

    def encode_queries(self, queries: Passages) -> Encodings:
        """Return one row per query in each output; inner products with the rows of chunks are similarities."""


@runtime_checkable
class TokenWeigher(Component, Protocol):
    """An encoder that gives each text a weight for every token of a vocabulary; most weights are zero.

    Inner products of a query's and a chunk's weights are similarities. Blank texts have no weights.
    """

    def weigh_chunks(self, chunks: Passages) -> SparseEncodings:
        """Return one row per chunk, with finite weights above zero."""

    def weigh_queries(self, queries: Passages) -> SparseEncodings:
        """Return one row per query; tokens have the same numbers as in chunks."""


@runtime_checkable
class TokenVectorEncoder(Component, Protocol):
    """An encoder that computes a vector for every token of a text, for late interaction.

    Vectors have unit length. Blank texts have no vectors.
    """

    def encode_chunk_tokens(self, chunks: Passages) -> MultiEncodings:
        """Return the token vectors of the chunks."""

    def encode_query_tokens(self, queries: Passages) -> MultiEncodings:
        """Return the token vectors of the queries. Inner products with vectors of chunk tokens are similarities."""
