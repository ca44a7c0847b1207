"""Spans of documents, their texts and their words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from components.records.lazy_sequence import LazySequence


@dataclass(frozen=True)
class Segments:
    """Ends of the tokens and sentences of every document, as two ragged arrays over one corpus.

    Document i owns `token_ends[token_offsets[i]:token_offsets[i + 1]]` (character offsets, int32, non-decreasing; the
    last one is the document's length). Sentences are stored in the same way. A token that ends inside a character
    counts as ending before it.
    """

    token_offsets: NDArray[np.int64]
    token_ends: NDArray[np.int32]
    sentence_offsets: NDArray[np.int64]
    sentence_ends: NDArray[np.int32]


@dataclass(frozen=True)
class Spans:
    """Chunks of a corpus as columns of equal length, sorted by (document, start): a chunk's text is a slice.

    `document` int32 position in the corpus; `start`, `end` int32 character offsets, start < end.
    """

    document: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.document)


@dataclass(frozen=True)
class ChunkOrigins(Spans):
    """Origins of chunks of refined texts in the original texts, as rows sorted by `chunk`, int32.

    A chunk assembled from several pieces has one row per piece, in its order. A chunk without an original has one row
    without characters.
    """

    chunk: NDArray[np.int32] = field(kw_only=True)


class SpanTexts(LazySequence[str]):
    """Texts of spans, sliced on access. It holds no copy of the corpus."""

    def __init__(self, documents: Sequence[str], spans: Spans) -> None:
        self._documents = documents
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def spans(self) -> Spans:
        """The spans of the texts."""
        return self._spans

    def join_spans(self, positions: Sequence[int]) -> str:
        """Return the text from the first to the last of some ordered spans of one document. Overlaps occur once."""
        first = positions[0]
        last = max(int(self._spans.end[position]) for position in positions)
        text: str = self._documents[self._spans.document[first]][self._spans.start[first] : last]
        return text

    def _item(self, index: int) -> str:
        spans = self._spans
        return self._documents[spans.document.item(index)][spans.start.item(index) : spans.end.item(index)]

    def __iter__(self) -> Iterator[str]:
        spans = self._spans
        for document, start, end in zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True):
            yield self._documents[document][start:end]


@dataclass(frozen=True)
class Words:
    """Words of a text with their character spans: `start`, `end` int32[n_words], each non-decreasing; words may
    overlap.
    """

    words: Sequence[str]
    start: NDArray[np.int32]
    end: NDArray[np.int32]


@dataclass(frozen=True)
class Terms:
    """Vocabulary ids of many passages. Passage i owns `ids[first[i]:last[i]]`. The ranges of overlapping chunks
    overlap.

    `ids` int32 in [0, n_vocabulary); `first`, `last` int64.
    """

    ids: NDArray[np.int32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    n_vocabulary: int

    def __len__(self) -> int:
        return len(self.first)

    def row(self, index: int) -> NDArray[np.int32]:
        """Return the ids of one passage, in order, int32[n_terms]."""
        return self.ids[self.first[index] : self.last[index]]


@dataclass(frozen=True)
class Units:
    """Units of texts that metrics compare, such as words, as numbers. Text i is `ids[offsets[i]:offsets[i + 1]]`, in
    order.

    `ids` int64: equal units have equal numbers in all texts and processes. `offsets` int64[n_texts + 1].
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> NDArray[np.int64]:
        """Return the units of one text, int64[n_units]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class TextsWithUnits:
    """Answers or references, with their units where the receiving metric has a `form`."""

    texts: Sequence[str]
    units: Units | None = None

    def __len__(self) -> int:
        return len(self.texts)
