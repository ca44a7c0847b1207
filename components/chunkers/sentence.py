"""The default chunker, which packs whole sentences up to a size."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.chunkers.budget import Unit, overlap_tokens, size_problems
from components.chunkers.token_window import drop_redundant_spans
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans, SpanTexts
from components.text.corpus_tables import cut_segments
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class SentencePacking:
    """Packs consecutive sentences into chunks of at most `size` tokens (or characters).

    With overlap, a chunk begins with exactly the last `size * overlap` tokens of the text before it, rounded down.
    Whole sentences fill the rest, and a sentence that is too long for the rest is cut between tokens. Chunks are spans
    of the original text, and no text is lost. Tokens are counted in the whole document. A chunk tokenized by itself can
    have one or two more, because its edges may split what the tokenizer would read as one token.
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
        repeated = overlap_tokens(self.size, self.overlap)
        rows = []
        for i, (tokens, sentences) in enumerate(_per_document(segments)):
            for first, last in _pack(sentences, self.size, repeated):
                start = max(0, first - repeated)
                rows.append((i, tokens[start - 1] if start else 0, tokens[last - 1]))
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return drop_redundant_spans(documents, Spans(columns[:, 0], columns[:, 1], columns[:, 2]))


def _per_document(segments: Segments) -> Iterator[tuple[list[int], list[int]]]:
    """Yield for each document its token ends (characters), and the number of tokens up to the end of each sentence."""
    token_offsets, sentence_offsets = segments.token_offsets.tolist(), segments.sentence_offsets.tolist()
    for i in range(len(token_offsets) - 1):
        tokens = segments.token_ends[token_offsets[i] : token_offsets[i + 1]]
        ends = segments.sentence_ends[sentence_offsets[i] : sentence_offsets[i + 1]]
        yield tokens.tolist(), np.searchsorted(tokens, ends, side="right").tolist()


def _pack(sentences: list[int], size: int, repeated: int) -> Iterator[tuple[int, int]]:
    """Yield the tokens [first, last) of each chunk's new part. `sentences` are the token counts at their ends.

    The new part has at most `size - repeated` tokens, or `size` in the first chunk of a document, which repeats none.
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


def pack_within(parts: Spans, packing: SentencePacking, documents: Documents, segments: Segments) -> Spans:
    """Pack each of `parts` like a document, so that no chunk crosses the border of a part.

    Return the chunks of all parts, sorted by (document, start).
    """
    texts = SpanTexts(documents.texts, parts)
    names = [str(number) for number in range(len(texts))]
    packed = packing.chunk(Documents(names, names, texts), cut_segments(segments, parts))
    first = parts.start[packed.document]
    return drop_redundant_spans(
        documents, Spans(parts.document[packed.document], packed.start + first, packed.end + first)
    )
