"""Tables of a corpus that is split once: the ends of its tokens and sentences, and its terms.

Chunks are spans, so every chunking reads these tables instead of splitting its texts again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from components.protocols import Tokenizer, WordTokenizer
from components.records import Segments, Spans, Terms
from components.text.sentences import sentence_ends

_BATCH = 1024


def _concatenate(rows: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets, np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)


def segment(texts: Sequence[str], tokenizer: Tokenizer | None) -> Segments:
    """Return the token and sentence ends of every text. Without a tokenizer, a token is a character."""
    token_rows: list[NDArray[np.int32]] = []
    for first in range(0, len(texts), _BATCH):
        batch = texts[first : first + _BATCH]
        if tokenizer is None:
            token_rows.extend(np.arange(1, len(text) + 1, dtype=np.int32) for text in batch)
        else:
            token_rows.extend(tokenizer.token_ends(batch))
    return Segments(*_concatenate(token_rows), *_concatenate([sentence_ends(text) for text in texts]))


def cut_segments(segments: Segments, spans: Spans) -> Segments:
    """Return the segments of spans as if each span were a document. A token or sentence ends no later than its span."""
    return Segments(
        *_concatenate(_ends_within(segments.token_offsets, segments.token_ends, spans)),
        *_concatenate(_ends_within(segments.sentence_offsets, segments.sentence_ends, spans)),
    )


def _ends_within(offsets: NDArray[np.int64], ends: NDArray[np.int32], spans: Spans) -> list[NDArray[np.int32]]:
    rows = []
    for document, start, end in zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True):
        document_ends = ends[offsets[document] : offsets[document + 1]]
        first, last = np.searchsorted(document_ends, [start, end], side="right")
        within = document_ends[first:last] - np.int32(start)
        rows.append(within if len(within) and within[-1] == end - start else np.append(within, np.int32(end - start)))
    return rows


@dataclass(frozen=True)
class TermTable:
    """Terms of a corpus in order: document i owns [offsets[i], offsets[i + 1]) of `ids`, `start`, `end`.

    `ids` are int32 positions in `vocabulary`; `start`, `end` are int32 character offsets of the word. The table has no
    words that are not indexed.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    vocabulary: Sequence[str]

    @cached_property
    def term_positions(self) -> Mapping[str, int]:
        """The position of each term in the vocabulary."""
        return {term: i for i, term in enumerate(self.vocabulary)}

    def document_terms(self) -> Terms:
        """Return the terms of every document."""
        return Terms(self.ids, self.offsets[:-1], self.offsets[1:], len(self.vocabulary))

    def chunk_terms(self, chunks: Spans) -> Terms:
        """Return the terms that are completely inside each chunk."""
        # Documents are laid end to end on one number line, so that a single sorted search serves all chunks.
        longest = int(max(self.end.max(initial=0), chunks.end.max(initial=0))) + 1
        base = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int64) * longest, np.diff(self.offsets))
        chunk_base = chunks.document.astype(np.int64) * longest
        first = np.searchsorted(base + self.start, chunk_base + chunks.start, side="left")
        last = np.searchsorted(base + self.end, chunk_base + chunks.end, side="right")
        return Terms(self.ids, first, np.maximum(first, last), len(self.vocabulary))


def build_term_table(texts: Sequence[str], tokenizer: WordTokenizer) -> TermTable:
    """Split every text once. The vocabulary is sorted, so that ids do not depend on the order of the documents."""
    seen: dict[str, int] = {}
    rows: list[NDArray[np.int32]] = []
    starts: list[NDArray[np.int32]] = []
    ends: list[NDArray[np.int32]] = []
    for words in tokenizer.words(texts):
        rows.append(np.array([seen.setdefault(word, len(seen)) for word in words.words], dtype=np.int32))
        starts.append(words.start)
        ends.append(words.end)
    terms = [tokenizer.normalize(word) for word in seen]  # once per distinct word, not once per occurrence
    vocabulary = sorted(set(terms) - {""})
    number_of = {term: i for i, term in enumerate(vocabulary)} | {"": -1}
    to_term = np.array([number_of[term] for term in terms], dtype=np.int32)
    offsets, raw = _concatenate(rows)
    ids = to_term[raw] if len(raw) else raw
    is_known = ids >= 0
    n_known_before = np.concatenate([[0], np.cumsum(is_known)])
    return TermTable(
        n_known_before[offsets],
        ids[is_known],
        _concatenate(starts)[1][is_known],
        _concatenate(ends)[1][is_known],
        vocabulary,
    )


def joined_tables(tables: Sequence[TermTable], rows: Sequence[NDArray[np.int64]]) -> TermTable:
    """Return one table for several tables of parts of a corpus. It equals the table built from all documents together.

    `rows` are the ascending positions of each table's documents in the corpus.
    """
    if len(tables) == 1:
        return tables[0]
    vocabulary = sorted(set().union(*(table.vocabulary for table in tables)))
    number_of = {term: i for i, term in enumerate(vocabulary)}
    ids = [np.array([number_of[term] for term in table.vocabulary], dtype=np.int32)[table.ids] for table in tables]
    order = np.argsort(np.concatenate(rows), kind="stable")  # places of the corpus's documents in the tables
    lengths = np.concatenate([np.diff(table.offsets) for table in tables])
    first = np.cumsum(lengths) - lengths
    offsets = np.concatenate([[0], np.cumsum(lengths[order])])
    gathered = np.arange(offsets[-1]) + np.repeat(first[order] - offsets[:-1], lengths[order])
    start, end = (np.concatenate(column) for column in ([t.start for t in tables], [t.end for t in tables]))
    return TermTable(offsets, np.concatenate(ids)[gathered], start[gathered], end[gathered], vocabulary)


def query_terms(texts: Sequence[str], tokenizer: WordTokenizer, table: TermTable) -> Terms:
    """Return the terms of the queries in a corpus's vocabulary, without words that the corpus does not contain."""
    number_of = table.term_positions
    rows = [
        np.array(
            [number_of[term] for term in map(tokenizer.normalize, words.words) if term in number_of],
            dtype=np.int32,
        )
        for words in tokenizer.words(texts)
    ]
    offsets, ids = _concatenate(rows)
    return Terms(ids, offsets[:-1], offsets[1:], len(table.vocabulary))
