"""Chunks of documents, and what is searched with each of them."""

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
    """Cuts documents into chunks that are spans of the original text."""

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """What chunk sizes are counted in, as `segments` holds it; None for characters."""

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Spans sorted by (document, start). Every character that is not white space is in at least one span. Each
        document is cut by itself, whichever others are given with it: a corpus comes in blocks.
        """


@runtime_checkable
class DescribingChunker(Chunker, Protocol):
    """A chunker that knows facts about its chunks, for prompts: they stand with those of the document."""

    def facts(self, documents: Documents, chunks: Spans) -> Sequence[Mapping[str, str]]:
        """Facts by name, for each chunk; {} for one of which there are none."""


@runtime_checkable
class EmbeddingChunker(Component, Protocol):
    """Cuts documents into chunks by vectors of smaller parts of them."""

    @property
    def embedder(self) -> "Embedder":
        """Embeds the parts."""

    @property
    def windows(self) -> Chunker:
        """Cuts the parts, which may overlap."""

    def chunk_by_vectors(self, documents: Documents, segments: Segments, vectors: NDArray[np.float32]) -> Spans:
        """As `Chunker.chunk`, with the segments that the windows were cut along, and float32[n_windows, d]."""


@runtime_checkable
class ParentChunker(Component, Protocol):
    """Cuts documents into chunks that are read, and each of these into smaller ones that are searched."""

    @property
    def children(self) -> Chunker:
        """Cuts what is searched out of what is read."""

    @property
    def parents(self) -> Chunker | EmbeddingChunker:
        """Cuts what is read."""


AnyChunker = Chunker | EmbeddingChunker | ParentChunker
"""What a cell has: a chunker of some kind."""


@runtime_checkable
class HeaderWriter(Component, Protocol):
    """Writes what is searched together with each chunk, and is no part of it."""

    def write(self, documents: Documents, chunks: Spans) -> Sequence[str]:
        """A header per chunk, "" for none."""


@runtime_checkable
class AskingHeaderWriter(Component, Protocol):
    """A writer of headers that asks a language model."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked."""

    def write_by_asking(self, documents: Documents, chunks: Spans, ask: "Ask") -> list[AskedText]:
        """What came of asking about each chunk: without a text it has no header."""


@runtime_checkable
class Header(Component, Protocol):
    """Which headers stand before each chunk where it is searched."""

    @property
    def writers(self) -> Sequence[HeaderWriter | AskingHeaderWriter]:
        """None for chunks as they are; a header that is a single one returns itself."""
