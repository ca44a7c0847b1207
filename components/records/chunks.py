"""Places in documents, their texts and their words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from components.records.lazy_sequence import LazySequence


@dataclass(frozen=True)
class Segments:
    """Where the tokens and the sentences of every document end, as two ragged arrays over one corpus.

    Document i owns `token_ends[token_offsets[i]:token_offsets[i + 1]]` (character offsets, int32, non-decreasing; the
    last one is the document's length) and likewise for sentences. A token that ends inside a character ends where the
    last whole character does.
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
    """Where chunks of refined texts come from in the original ones: rows by `chunk`, int32, non-decreasing; a chunk has
    as many as it was put together of, in its own order, and one without characters if all of it was added.
    """

    chunk: NDArray[np.int32] = field(kw_only=True)


class SpanTexts(LazySequence[str]):
    """The texts of spans, sliced when asked for: holds no copy of the corpus."""

    def __init__(self, documents: Sequence[str], spans: Spans) -> None:
        self._documents = documents
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def spans(self) -> Spans:
        """Where the texts are."""
        return self._spans

    def joined(self, positions: Sequence[int]) -> str:
        """The text from the first of some spans of one document, in order, to where they end: what several hold is
        there once.
        """
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
    """Words of a text with their places: `start`, `end` int32[n_words], each non-decreasing; words may overlap."""

    words: Sequence[str]
    start: NDArray[np.int32]
    end: NDArray[np.int32]


@dataclass(frozen=True)
class Terms:
    """Vocabulary ids of many passages. Passage i holds `ids[first[i]:last[i]]`; ranges may overlap (chunks with
    overlap).

    `ids` int32 in [0, n_vocabulary); `first`, `last` int64.
    """

    ids: NDArray[np.int32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    n_vocabulary: int

    def __len__(self) -> int:
        return len(self.first)

    def row(self, index: int) -> NDArray[np.int32]:
        """Ids of one passage, in order, int32[n_terms]."""
        return self.ids[self.first[index] : self.last[index]]


@dataclass(frozen=True)
class Units:
    """What texts are compared by (words, say), as numbers: text i is `ids[offsets[i]:offsets[i + 1]]`, in order.

    `ids` int64: equal units have equal numbers, in any text and any process; `offsets` int64[n_texts + 1].
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> NDArray[np.int64]:
        """Units of one text, int64[n_units]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class TextsWithUnits:
    """Answers or references, with their units where the receiving metric has a `form`."""

    texts: Sequence[str]
    units: Units | None = None

    def __len__(self) -> int:
        return len(self.texts)
