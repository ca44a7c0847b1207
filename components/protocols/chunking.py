"""Chunks of documents, and the headers that are indexed with them."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.protocols.component import Component
from components.protocols.embedding import Embedder
from components.protocols.language_models import LLM, Ask
from components.protocols.tokenizing import Tokenizer
from components.records import AskedText, Documents, Segments, Spans


@runtime_checkable
class Chunker(Component, Protocol):
    """A component that splits documents into chunks, which are spans of the original text."""

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """Tokenizer that defines the unit of chunk sizes; `segments` holds its tokens. None counts characters."""

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Return spans, sorted by (document, start).

        At least one span covers each character that is not whitespace. The chunks of a document must not depend on the
        other documents of the call, because a corpus is passed in blocks.
        """


@runtime_checkable
class DescribingChunker(Chunker, Protocol):
    """A chunker that knows metadata of its chunks. Prompts show it with the metadata of the document."""

    def facts(self, documents: Documents, chunks: Spans) -> Sequence[Mapping[str, str]]:
        """Return the metadata of each chunk by name, {} for a chunk that has none."""


@runtime_checkable
class EmbeddingChunker(Component, Protocol):
    """A component that splits documents into chunks by the vectors of smaller parts."""

    @property
    def embedder(self) -> "Embedder":
        """The embedder of the parts."""

    @property
    def windows(self) -> Chunker:
        """The chunker that splits documents into the parts, which may overlap."""

    def chunk_by_vectors(self, documents: Documents, segments: Segments, vectors: NDArray[np.float32]) -> Spans:
        """Return spans that meet the contract of `Chunker.chunk`.

        `windows` used the same `segments`; `vectors` is float32[n_windows, d].
        """


@runtime_checkable
class ParentChunker(Component, Protocol):
    """A component that splits documents into chunks for the prompt, and these into smaller chunks for the search."""

    @property
    def children(self) -> Chunker:
        """The chunker that splits a parent chunk into the chunks that are searched."""

    @property
    def parents(self) -> Chunker | EmbeddingChunker:
        """The chunker that splits documents into the chunks that the prompt shows."""


AnyChunker = Chunker | EmbeddingChunker | ParentChunker
"""Every kind of chunker that a cell can have."""


@runtime_checkable
class HeaderWriter(Component, Protocol):
    """A component that writes a header for each chunk: text that is indexed with it but is not part of it."""

    def write(self, documents: Documents, chunks: Spans) -> Sequence[str]:
        """Return one header per chunk, "" for none."""


@runtime_checkable
class AskingHeaderWriter(Component, Protocol):
    """A header writer that sends requests to a language model."""

    @property
    def llm(self) -> "LLM":
        """The language model of its requests."""

    def write_by_asking(self, documents: Documents, chunks: Spans, ask: "Ask") -> list[AskedText]:
        """Return the outcome of the request for each chunk. A chunk whose outcome has no text gets no header."""


@runtime_checkable
class Header(Component, Protocol):
    """A component that lists the headers placed before each chunk in the index."""

    @property
    def writers(self) -> Sequence[HeaderWriter | AskingHeaderWriter]:
        """The writers; empty for chunks without headers. A header that is a single writer returns itself."""
