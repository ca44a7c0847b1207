"""Indexes, the arms of a search over them, and what becomes of their hits before they are reranked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.encodings import SparseVectors
from components.protocols.chunking import Chunker
from components.protocols.component import Arrays, Component
from components.protocols.embedding import Embedder, ThreeWayEncoder
from components.protocols.tokenizing import WordTokenizer
from components.records import AllowedDocuments, Documents, Hits, IndexBlock, Passages, Sample, Spans


@runtime_checkable
class VectorIndex(Component, Protocol):
    """Nearest neighbours by inner product."""

    @property
    def as_built(self) -> "VectorIndex":
        """The index with the fields that concern the search alone at one value: what `build` depends on."""

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """An index over float32[n, d], which may be mapped from a file, as named arrays; {} where the vectors
        themselves are the index.

        `place` is an empty folder for large arrays: those that are mapped from .npy files in it are kept without a
        copy. No other index has its name, which is the same whenever this one is built.
        """

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """The `depth` best per query; where there are fewer vectors, rows are as long as there are vectors."""


@runtime_checkable
class KeptElsewhere(Protocol):
    """An index a part of which is kept in another place than its arrays, such as a server, and may go from there."""

    def lost(self, index: Arrays) -> list[str]:
        """What of an index is not there any more, or is not what was built; [] for a sound one. The index is then built
        again. Raises ComponentError if it cannot be told.
        """


@runtime_checkable
class ShortensVectors(VectorIndex, Protocol):
    """An index of the first dimensions of vectors."""

    @property
    def dimensions(self) -> int | None:
        """So many of them; None for all."""


@runtime_checkable
class SparseIndex(Component, Protocol):
    """Ranks chunks by the terms they share with the query."""

    @property
    def tokenizer(self) -> WordTokenizer:
        """Splits chunks and queries alike."""

    @property
    def as_built(self) -> "SparseIndex":
        """The index with the fields that concern the search alone at one value: what `build` depends on."""

    @property
    def is_blockwise(self) -> bool:
        """True if a corpus may be indexed in blocks of documents, of which `search` makes the same hits as of a single
        block; False if it must be a single one.
        """

    def build(self, chunks: Passages) -> Arrays:
        """The index of a block of chunks, by their terms, as named arrays. What depends on other blocks, such as in how
        many chunks a term is, is left to the search.
        """

    def search(self, blocks: Sequence[IndexBlock], queries: Passages, depth: int) -> Hits:
        """The `depth` best per query with a score above zero; a query may have no hit at all. Where there are fewer
        chunks, rows are as long as there are chunks. The queries' terms are numbered as in `IndexBlock.term_ids`.
        """


@runtime_checkable
class TokenIndex(Component, Protocol):
    """Ranks chunks by the token weights that an encoder gave."""

    def build(self, chunks: SparseVectors) -> Arrays:
        """An index over the chunks' weights as named arrays."""

    def search(self, index: Arrays, queries: SparseVectors, depth: int) -> Hits:
        """The `depth` best per query with a score above zero, as of a `SparseIndex`."""


@runtime_checkable
class Fusion(Component, Protocol):
    """Joins several rankings of the same queries into one, by chunk. One that weighs a retriever's searches has their
    `weights`, in the order of its `arms`: their number is then checked before any work begins.
    """

    def fuse(self, rankings: Sequence[Hits], depth: int) -> Hits:
        """The `depth` best per query of the union."""


@runtime_checkable
class DenseArm(Protocol):
    """A search for the nearest chunks by embedding."""

    @property
    def embedder(self) -> Embedder:
        """Embeds chunks and queries."""

    @property
    def vector_index(self) -> VectorIndex:
        """Searched with the queries' vectors."""


@runtime_checkable
class SparseArm(Protocol):
    """A search for the chunks that share terms with the query."""

    @property
    def sparse_index(self) -> SparseIndex:
        """Searched with the queries' terms."""


@runtime_checkable
class EncodedDenseArm(Protocol):
    """A search for the nearest chunks by an encoder's vectors of whole texts."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    @property
    def vector_index(self) -> VectorIndex:
        """Searched with the queries' vectors."""


@runtime_checkable
class EncodedSparseArm(Protocol):
    """A search for the chunks that share tokens with the query, by an encoder's weights of them."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    @property
    def token_index(self) -> TokenIndex:
        """Searched with the queries' weights."""


@runtime_checkable
class LateInteractionArm(Protocol):
    """A ranking by late interaction between the tokens of query and chunk."""

    @property
    def encoder(self) -> ThreeWayEncoder:
        """Encodes chunks and queries."""

    @property
    def candidates(self) -> "Sequence[EncodedDenseArm | EncodedSparseArm]":
        """The searches whose hits are scored; none for a search of all chunks."""


EncodedArm = EncodedDenseArm | EncodedSparseArm | LateInteractionArm
"""Searches that share one pass of an encoder over the chunks."""


@runtime_checkable
class PickingArm(Protocol):
    """No search: what a sample itself names is picked, whatever the query. It is the only arm of its retriever.

    An arm with a `gives_passages` that is true picks what the benchmark gives, noise included: a question whose prompt
    then holds none of its gold cannot be answered, and metrics of retrieval rank no cells.
    """

    @property
    def chunker(self) -> Chunker | None:
        """Cuts the corpus for this arm; None for the cell's own chunker."""

    @property
    def picks_for_prompt(self) -> bool:
        """True if what is picked depends on how many passages the prompt holds: `n` is then top_k, else the depth."""

    def pick(self, samples: Sequence[Sample], documents: Documents, chunks: Spans, n: int) -> Hits:
        """At most `n` chunks for each sample, by decreasing score; none for a sample that names nothing."""


Arm = DenseArm | SparseArm | EncodedArm | PickingArm
"""One search of a retriever (or none, but its result at once); each gives a ranking of its own."""


@runtime_checkable
class Retriever(Component, Protocol):
    """Says which searches are made and how their rankings are joined; it does nothing itself."""

    @property
    def arms(self) -> Sequence[Arm]:
        """The searches, in the order in which the fusion weighs them; none for no retrieval at all."""

    @property
    def fusion(self) -> Fusion | None:
        """Joins the rankings of all arms and all variants of the query; None is enough for a single one."""

    @property
    def depth(self) -> int:
        """Hits kept per query."""


@runtime_checkable
class Filter(Component, Protocol):
    """Says which documents may be found. A search gives as many hits as without a filter, if there are as many."""

    @property
    def is_open(self) -> bool:
        """True where every document may be found for every sample."""

    def allow(self, samples: Sequence[Sample], documents: Documents) -> AllowedDocuments:
        """The documents of each sample."""


@runtime_checkable
class TextDiversity(Component, Protocol):
    """Keeps the first hits of a query from saying the same, by their texts or terms."""

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """As for Embedder."""

    @property
    def depth(self) -> int:
        """How many hits per query are compared; 0 for none at all."""

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """The hits in another order, or without some of them. Those behind the depth stay behind."""


@runtime_checkable
class VectorDiversity(Component, Protocol):
    """Keeps the first hits of a query from saying the same, by the vectors of the chunks."""

    @property
    def embedder(self) -> Embedder:
        """Embeds the chunks: a search with the same embedder shares the vectors."""

    @property
    def depth(self) -> int:
        """As of TextDiversity."""

    def diversify_vectors(self, hits: Hits, vectors: NDArray[np.float32]) -> Hits:
        """As `diversify`, from float32[n_chunks, n_dimensions]."""


Diversity = TextDiversity | VectorDiversity
"""What a cell has: one kind or the other."""
