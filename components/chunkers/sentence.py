"""Whole sentences packed up to a size: the default chunker."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.chunkers.budget import Unit, overlap_tokens, size_mistakes
from components.chunkers.token_window import tidy
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class SentencePacking:
    """Packs consecutive sentences into chunks of at most `size` tokens (or characters).

    With overlap, a chunk begins with exactly the last `size * overlap` tokens of the text before it, rounded down;
    whole sentences fill the rest. A sentence that is too long for the rest is cut between tokens. Nothing is lost or
    changed: chunks are spans of the original text. Tokens are those of the whole document: a chunk tokenised by itself
    can have one or two more, since its edges may fall where the tokenizer would have read on.
    """

    size: int = 128
    overlap: float = 0.0
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """What is wrong with size and overlap."""
        return size_mistakes(self.size, self.overlap, self.unit, self.tokenizer)

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """None when sizes are characters."""
        return None if self.unit is Unit.CHAR else self.tokenizer

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Spans sorted by (document, start)."""
        repeated = overlap_tokens(self.size, self.overlap)
        rows = []
        for i, (tokens, sentences) in enumerate(_per_document(segments)):
            for first, last in _pack(sentences, self.size, repeated):
                start = max(0, first - repeated)
                rows.append((i, tokens[start - 1] if start else 0, tokens[last - 1]))
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return tidy(documents, Spans(columns[:, 0], columns[:, 1], columns[:, 2]))


def _per_document(segments: Segments) -> Iterator[tuple[list[int], list[int]]]:
    """Per document: its token ends (characters), and the number of tokens up to the end of each sentence."""
    token_offsets, sentence_offsets = segments.token_offsets.tolist(), segments.sentence_offsets.tolist()
    for i in range(len(token_offsets) - 1):
        tokens = segments.token_ends[token_offsets[i] : token_offsets[i + 1]]
        ends = segments.sentence_ends[sentence_offsets[i] : sentence_offsets[i + 1]]
        yield tokens.tolist(), np.searchsorted(tokens, ends, side="right").tolist()


def _pack(sentences: list[int], size: int, repeated: int) -> Iterator[tuple[int, int]]:
    """[first, last) tokens of each chunk's new part, for sentences given by the token count at their end.

    The first chunk of a document has nothing to repeat, so its new part may be `size` tokens long, that of the others
    `size - repeated`.
    """
    first = packed = 0
    for end in sentences:
        if end - first > _room(first, size, repeated) and packed > first:  # full: this sentence begins a new chunk
            yield first, packed
            first = packed
        while end - first > (room := _room(first, size, repeated)):
            yield first, first + room
            first += room
        packed = end
    if packed > first:
        yield first, packed


def _room(first: int, size: int, repeated: int) -> int:
    return size - repeated if first else size
