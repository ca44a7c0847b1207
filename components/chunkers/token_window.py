"""Fixed windows of tokens, regardless of sentences."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.chunkers.budget import Unit, overlap_tokens, size_problems
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class TokenWindow:
    """Cuts documents into windows of `size` tokens (or characters), each beginning `size * (1 - overlap)` tokens after
    the previous one.

    The last window of a document may be shorter. A window never ends inside a character: a token that ends there
    belongs to the next window. Windows of whitespace are dropped. Tokens are counted in the whole document. A window
    tokenized by itself can have one or two more, because its edges may split what the tokenizer would read as one
    token.
    """

    size: int = 128
    overlap: float = 0.0
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return one message per error in size and overlap."""
        return size_problems(self.size, self.overlap, self.unit, self.tokenizer)

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """The tokenizer that counts sizes, or None for sizes in characters."""
        return None if self.unit is Unit.CHAR else self.tokenizer

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Return spans sorted by (document, start)."""
        step = self.size - overlap_tokens(self.size, self.overlap)
        n_tokens = np.diff(segments.token_offsets)
        # Windows are added until one reaches the end of the document. -(-a // b) rounds up.
        n_windows = np.where(n_tokens > 0, np.maximum(0, -((self.size - n_tokens) // step)) + 1, 0)
        document = np.repeat(np.arange(len(n_tokens)), n_windows)
        nth = np.arange(len(document)) - np.repeat(np.cumsum(n_windows) - n_windows, n_windows)
        first = nth * step
        last = np.minimum(first + self.size, n_tokens[document])
        spans = Spans(
            document.astype(np.int32),
            _token_start(segments, document, first),
            _token_start(segments, document, last),
        )
        return drop_redundant_spans(documents, spans)


def _token_start(segments: Segments, document: NDArray[np.int64], token: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the character offset before the nth token of each document."""
    before = segments.token_offsets[document] + token - 1
    return np.where(token > 0, segments.token_ends[np.maximum(before, 0)], 0).astype(np.int32)


def drop_redundant_spans(documents: Documents, spans: Spans) -> Spans:
    """Drop spans of whitespace, and spans inside the span before or after them.

    The latter arise where several tokens share a character. `spans` are sorted by (document, start).
    """
    rows = zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)
    has_text = np.array([bool(documents.texts[d][start:end].strip()) for d, start, end in rows], dtype=bool)
    spans = Spans(spans.document[has_text], spans.start[has_text], spans.end[has_text])
    neighbours = spans.document[1:] == spans.document[:-1]
    inside_next = neighbours & (spans.start[1:] == spans.start[:-1]) & (spans.end[:-1] <= spans.end[1:])
    inside_last = neighbours & ~inside_next & (spans.end[1:] <= spans.end[:-1])
    outside = (
        ~(np.append(inside_next, False) | np.append(False, inside_last)) if len(spans) else np.zeros(0, dtype=bool)
    )
    return Spans(spans.document[outside], spans.start[outside], spans.end[outside])
