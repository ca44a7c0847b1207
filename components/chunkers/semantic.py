"""Chunks that end where the topic changes, judged by the vectors of sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.chunkers.budget import Unit, size_problems
from components.chunkers.sentence import SentencePacking, pack_within
from components.protocols import Embedder, Tokenizer
from components.records import Documents, Segments, Spans
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class SentenceWindows:
    """Cuts windows to embed: each sentence with `n_neighbours` sentences before and after it."""

    n_neighbours: int = 1
    length_tokenizer: Tokenizer | None = None

    version: ClassVar[int] = 1

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Return one span per sentence, in order. Spans overlap."""
        rows = []
        for document, ends in enumerate(_sentences(segments)):
            starts = [0, *ends[:-1]]
            for number in range(len(ends)):
                last = min(number + self.n_neighbours, len(ends) - 1)
                rows.append((document, starts[max(number - self.n_neighbours, 0)], ends[last]))
        return _spans(rows)


@dataclass(frozen=True)
class SemanticPacking:
    """Ends chunks between two sentences at a large distance.

    A chunk ends where the distance is above the `percentile` of all such distances in the document. The distance of
    two consecutive sentences is 1 - cosine of their vectors, or 0 if one has a zero vector. Each sentence is embedded
    together with `n_neighbours` on either side. Chunks of more than `size` tokens (or characters) are split between
    sentences by `SentencePacking`.

    Source: Kamradt 2023, "5 Levels of Text Splitting", level 4, as in llama-index's SemanticSplitterNodeParser.
    """

    embedder: Embedder
    percentile: float = 95.0
    n_neighbours: int = 1
    size: int = 512
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = size_problems(self.size, 0.0, self.unit, self.tokenizer)
        if not 0 <= self.percentile <= 100:
            problems.append(f"percentile: got {self.percentile}, expected a number in [0, 100], e.g. 95")
        if self.n_neighbours < 0:
            problems.append(f"n_neighbours: got {self.n_neighbours}, expected at least 0")
        return problems

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """None when sizes are characters."""
        return None if self.unit is Unit.CHAR else self.tokenizer

    @property
    def windows(self) -> SentenceWindows:
        """The chunker of the texts to embed, one per sentence."""
        return SentenceWindows(self.n_neighbours, self.length_tokenizer)

    def chunk_by_vectors(self, documents: Documents, segments: Segments, vectors: NDArray[np.float32]) -> Spans:
        """Return spans sorted by (document, start). `vectors` has one row per span of `windows`."""
        rows, first = [], 0
        for document, ends in enumerate(_sentences(segments)):
            sentence_vectors = vectors[first : first + len(ends)]
            first += len(ends)
            start = 0
            for end in [*(ends[number] for number in self._breaks(sentence_vectors)), *ends[-1:]]:
                rows.append((document, start, end))
                start = end
        packing = SentencePacking(self.size, 0.0, self.unit, self.tokenizer)
        return pack_within(_spans(rows), packing, documents, segments)

    def _breaks(self, vectors: NDArray[np.float32]) -> list[int]:
        """Return the sentences of a document after which a chunk ends, without the last sentence."""
        if len(vectors) < 2:
            return []
        norms = np.linalg.norm(vectors, axis=1)
        products = np.einsum("ij,ij->i", vectors[:-1], vectors[1:], dtype=np.float64)
        both = norms[:-1] * norms[1:]
        distances = 1 - np.divide(products, both, out=np.ones_like(products), where=both > 0)
        breaks: list[int] = np.flatnonzero(distances > np.percentile(distances, self.percentile)).tolist()
        return breaks


def _sentences(segments: Segments) -> Iterator[list[int]]:
    """Yield the ends of the sentences of each document."""
    offsets = segments.sentence_offsets.tolist()
    for first, last in pairwise(offsets):
        yield segments.sentence_ends[first:last].tolist()


def _spans(rows: list[tuple[int, int, int]]) -> Spans:
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return Spans(*(np.ascontiguousarray(column) for column in columns.T))
