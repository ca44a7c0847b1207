"""Indexes, the arms of a retriever, and the processing of hits before reranking."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import SparseVectors
from components.protocols.chunking import Chunker
from components.protocols.component import Arrays, Component
from components.protocols.embedding import Embedder, ThreeWayEncoder, TokenVectorEncoder, TokenWeigher
from components.protocols.graph_search import GraphArm
from components.protocols.tokenizing import WordTokenizer
from components.records import AllowedDocuments, Documents, Hits, IndexBlock, IndexedText, Passages, Sample, Spans


@runtime_checkable
class VectorIndex(Component, Protocol):
    """An index for the nearest vectors by inner product."""

    @property
    def as_built(self) -> "VectorIndex":
        """The index with its search-only fields set to fixed values: all that `build` depends on."""

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return an index over float32[n, d] as named arrays; {} if the vectors themselves serve as the index.

        `vectors` may be mapped from a file. `place` is an empty folder for large arrays: arrays mapped from .npy files
        in it are stored without a copy. The folder's name is unique to this index, and the same each time it is built.
        """

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` best vectors per query, or all of them if there are fewer."""


@runtime_checkable
class ExternalIndex(Protocol):
    """An index that stores a part outside its arrays, for example on a server, where it can be deleted."""

    def lost(self, index: Arrays) -> list[str]:
        """Return one message per part that is missing or differs from the build, [] for an intact index.

        A damaged index is built again. Raises ComponentError if the state cannot be determined.
        """


@runtime_checkable
class ShortensVectors(VectorIndex, Protocol):
    """An index over the first dimensions of vectors."""

    @property
    def dimensions(self) -> int | None:
        """Number of dimensions; None for all."""


@runtime_checkable
class SparseIndex(Component, Protocol):
    """An index that ranks chunks by the terms they share with the query."""

    @property
    def tokenizer(self) -> WordTokenizer:
        """The tokenizer that splits chunks and queries into words."""

    @property
    def as_built(self) -> "SparseIndex":
        """The index with its search-only fields set to fixed values: all that `build` depends on."""

    @property
    def is_blockwise(self) -> bool:
        """True if a corpus may be indexed in blocks of documents; `search` must then return the same hits as for a
        single block.
        """

    def build(self, chunks: Passages) -> Arrays:
        """Return the index over the terms of a block of chunks, as named arrays.

        Statistics that depend on other blocks, such as document frequencies, are computed in `search`.
        """

    def search(self, blocks: Sequence[IndexBlock], queries: Passages, depth: int) -> Hits:
        """Return at most `depth` hits per query, the best ones with a score above zero. A query may have no hit.

        Rows have length `depth`, or the number of chunks if that is smaller. `IndexBlock.term_ids` numbers the terms of
        the queries.
        """


@runtime_checkable
class TokenIndex(Component, Protocol):
    """An index that ranks chunks by the token weights of an encoder."""

    def build(self, chunks: SparseVectors) -> Arrays:
        """Return an index over the chunks' weights, as named arrays."""

    def search(self, index: Arrays, queries: SparseVectors, depth: int) -> Hits:
        """Return at most `depth` hits per query, the best ones with a score above zero; see `SparseIndex.search`."""


@runtime_checkable
class Fusion(Component, Protocol):
    """A component that joins several rankings of the same queries into one, by chunk.

    A fusion that weights the arms of a retriever has `weights`, in the order of `Retriever.arms`. Their number is
    checked before any work.
    """

    def fuse(self, rankings: Sequence[Hits], depth: int) -> Hits:
        """Return the `depth` best hits per query from the union of the rankings."""


@runtime_checkable
class DenseArm(Protocol):
    """An arm that searches for the nearest chunks by embedding."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of chunks and queries."""

    @property
    def vector_index(self) -> VectorIndex:
        """The index that is searched with the vectors of the queries."""


@runtime_checkable
class SparseArm(Protocol):
    """An arm that searches for the chunks that share terms with the query."""

    @property
    def sparse_index(self) -> SparseIndex:
        """The index that is searched with the terms of the queries."""


@runtime_checkable
class EncodedDenseArm(Protocol):
    """An arm that searches for the nearest chunks by an encoder's vectors of whole texts."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """The encoder of chunks and queries."""

    @property
    def vector_index(self) -> VectorIndex:
        """The index that is searched with the vectors of the queries."""


@runtime_checkable
class EncodedSparseArm(Protocol):
    """An arm that searches for the chunks that share tokens with the query, by an encoder's token weights."""

    @property
    def encoder(self) -> ThreeWayEncoder | TokenWeigher:
        """The encoder of chunks and queries."""

    @property
    def token_index(self) -> TokenIndex:
        """The index that is searched with the token weights of the queries."""


@runtime_checkable
class LateInteractionArm(Protocol):
    """An arm that ranks by late interaction between the tokens of query and chunk."""

    @property
    def encoder(self) -> ThreeWayEncoder | TokenVectorEncoder:
        """The encoder of chunks and queries."""

    @property
    def candidates(self) -> "Sequence[CandidateArm]":
        """The arms whose hits it scores; empty if it scores all chunks."""


CandidateArm = DenseArm | SparseArm | EncodedDenseArm | EncodedSparseArm
"""An arm whose hits late interaction can score."""

EncodedArm = EncodedDenseArm | EncodedSparseArm | LateInteractionArm
"""An arm that can share one pass of an encoder over the chunks with other arms."""


@runtime_checkable
class PickingArm(Protocol):
    """An arm that does not search, but picks chunks that a sample itself names, or all of them. It is the only arm of
    its retriever.

    An arm whose `gives_passages` is true picks the passages that the benchmark provides, noise included. A question
    then counts as unanswerable if its prompt lacks all of its gold, and retrieval metrics do not rank the cells.
    """

    @property
    def chunker(self) -> Chunker | None:
        """The chunker of the corpus for this arm; None for the cell's chunker."""

    @property
    def picks_for_prompt(self) -> bool:
        """True if the choice depends on the number of passages in the prompt: `n` is then top_k, else the depth."""

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """Return at most `n` chunks per sample, by decreasing score; no hits for a sample that names no chunks."""


@runtime_checkable
class ExistingIndexArm(Protocol):
    """An arm that searches an existing index outside the store. It is the only arm of its retriever.

    Its hits are texts. They are located in the corpus afterwards.
    """

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the queries. The same embedder filled the index. None if `find` needs no vectors."""

    @property
    def reads_vectors(self) -> bool:
        """True if `find` needs the vectors of the queries."""

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[Sequence[IndexedText]]:
        """Yield at most `depth` hits per query, best first. `vectors` is float32[n_queries, d], None if unread.

        Raises ComponentError if the index cannot be searched.
        """


Arm = DenseArm | SparseArm | EncodedArm | GraphArm | PickingArm | ExistingIndexArm
"""One part of a retriever, which contributes one ranking."""


@runtime_checkable
class Retriever(Component, Protocol):
    """A component that lists the arms of a search and how to fuse their rankings. It computes nothing itself."""

    @property
    def arms(self) -> Sequence[Arm]:
        """The arms, in the order of the fusion's weights; empty for a cell without retrieval."""

    @property
    def fusion(self) -> Fusion | None:
        """The fusion of the rankings of all arms and all query variants; may be None if there is only one ranking."""

    @property
    def depth(self) -> int:
        """Number of hits per query."""


@runtime_checkable
class Filter(Component, Protocol):
    """A component that restricts a search to some documents. The search returns as many hits as without it, if the
    allowed documents have as many.
    """

    @property
    def is_open(self) -> bool:
        """True if every sample may find every document."""

    def allow(self, samples: Sequence[Sample], documents: Documents) -> AllowedDocuments:
        """Return the documents that each sample may find."""


@runtime_checkable
class TextDiversity(Component, Protocol):
    """A component that reduces redundancy among the first hits of a query, by their texts or terms."""

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Set for components that read terms instead of raw text; see `Embedder`."""

    @property
    def depth(self) -> int:
        """Number of hits per query that it compares; 0 for none."""

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """Return the hits reordered, or without some of them. Hits beyond the depth stay last."""


@runtime_checkable
class VectorDiversity(Component, Protocol):
    """A component that reduces redundancy among the first hits of a query, by the vectors of the chunks."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of the chunks. A search with an equal embedder shares the vectors."""

    @property
    def depth(self) -> int:
        """Number of hits per query that it compares; 0 for none."""

    def diversify_vectors(self, hits: Hits, vectors: NDArray[np.float32]) -> Hits:
        """Return the hits as `TextDiversity.diversify` does, given float32[n_chunks, n_dimensions]."""


Diversity = TextDiversity | VectorDiversity
"""A diversity component of either kind."""
