"""Places where documents contain passages, whole or in part, regardless of the text around them.

Texts are compared by their runs of 10 characters without whitespace. All runs of all passages are collected first,
then every document is read once. A document *covers* a character of a passage if the character is in a run that both
contain. A line break, a cut-off sentence or an edit therefore costs a few characters, not a whole sentence.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RUN = 10
"""Characters per run: long enough that few runs are shared by chance, short enough that an edit costs little."""

_BATCH = 1024
_MAX_PAIRS = 2_000_000
"""Maximum number of matches to compare per passage and document: enough for several copies of a filing."""
_N_CODES, _LAST_SPACE = 0x110000, 0x3000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class Coverage(NamedTuple):
    """The parts of one passage that documents cover. Positions ignore whitespace.

    `documents` int64[k] are ascending, and `n_covered` int64[k] are the covered characters of each. The covered pieces
    are the characters [position, end), int64, without overlaps. `document_of_piece` is the document of each piece.
    """

    n_characters: int
    documents: Ints
    n_covered: Ints
    document_of_piece: Ints
    position: Ints
    end: Ints


class Segment(NamedTuple):
    """Equal characters [start, start + length) of a passage and [place, place + length) of a document.

    Places refer to the original texts.
    """

    start: int
    place: int
    length: int


class SharedPassages:
    """The runs that `passages` share with documents. Documents are numbered in the order in which they are added."""

    def __init__(self, passages: Sequence[str]) -> None:
        codes = [_compact(passage).codes for passage in passages]
        self._n_characters = [len(row) for row in codes]
        runs = [_hashes(row) for row in codes]
        none = np.empty(0, dtype=np.uint64)
        self._passage_runs, ids = np.unique(np.concatenate([none, *runs]), return_inverse=True)
        self._runs = np.split(ids, np.cumsum([len(row) for row in runs]))
        self._may_be_passage_run = _build_table(self._passage_runs)
        self._documents: list[Ints] = []
        self._matched_runs: list[Ints] = []
        self._n_documents = 0
        self._first: Ints | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Read documents, and number them after the documents read before."""
        self._first = None
        for first in range(0, len(texts), _BATCH):
            batch = texts[first : first + _BATCH]
            self._add(batch)
            self._n_documents += len(batch)

    def _add(self, texts: Sequence[str]) -> None:
        codes = [_compact(text).codes for text in texts]
        document = np.repeat(np.arange(len(codes)), [len(row) for row in codes])
        hashes = _hashes(np.concatenate(codes))
        within_one = document[: len(hashes)] == document[RUN - 1 :][: len(hashes)]
        mask = np.uint64(len(self._may_be_passage_run) - 1)
        candidates = np.flatnonzero(within_one & self._may_be_passage_run[hashes & mask])
        index, is_passage_run = _find(hashes[candidates], self._passage_runs)
        pairs = np.unique(document[candidates[is_passage_run]] * (len(self._passage_runs) + 1) + index[is_passage_run])
        document_of_pair, run = np.divmod(pairs, len(self._passage_runs) + 1)
        self._documents.append(document_of_pair + self._n_documents)
        self._matched_runs.append(run)

    def coverage(self, passage: int) -> Coverage:
        """Return the parts of a passage that the added documents cover."""
        documents, first = self._documents_by_run()
        ids = self._runs[passage]
        counts = first[ids + 1] - first[ids]
        position = np.repeat(np.arange(len(ids)), counts)
        places = np.arange(counts.sum()) + np.repeat(first[ids] - np.cumsum(counts) + counts, counts)
        document = documents[places]
        order = np.lexsort((position, document))
        document, position = document[order], position[order]
        end = position + RUN
        follows = document[1:] == document[:-1]
        end[:-1][follows] = np.minimum(end[:-1][follows], position[1:][follows])
        distinct, inverse = np.unique(document, return_inverse=True)
        n_covered = np.bincount(inverse, weights=end - position, minlength=len(distinct)).astype(np.int64)
        return Coverage(self._n_characters[passage], distinct, n_covered, document, position, end)

    def _documents_by_run(self) -> tuple[Ints, Ints]:
        """Return the documents of every run that was found, run by run, and the start of each run's documents."""
        if self._first is None:
            none = np.empty(0, dtype=np.int64)
            runs, documents = np.concatenate([none, *self._matched_runs]), np.concatenate([none, *self._documents])
            order = np.lexsort((documents, runs))
            self._matched_runs, self._documents = [runs[order]], [documents[order]]
            self._first = np.searchsorted(self._matched_runs[0], np.arange(len(self._passage_runs) + 1))
        return self._documents[0], self._first


def segments(passage: str, document: str) -> Iterator[Segment]:
    """Yield the equal characters of a passage and a document, in the order of the passage.

    Each shared character of the passage has one place. If the document contains it several times, the place in the
    longest equal stretch is used, then the earliest. For runs that repeat endlessly, only the first occurrences are
    compared.
    """
    compact_passage, compact_document = _compact(passage), _compact(document)
    in_passage, in_document = _shared_runs(_hashes(compact_passage.codes), _hashes(compact_document.codes))
    for start, at, n in sorted(_longest_stretches(in_passage, in_document)):
        yield from _original_segments(compact_passage.places[start : start + n], compact_document.places[at : at + n])


def _shared_runs(passage: Hashes, document: Hashes) -> tuple[Ints, Ints]:
    """Return the positions of equal runs in both, int64[n_pairs] each."""
    order = np.argsort(document, kind="stable")
    ordered = document[order]
    first = np.searchsorted(ordered, passage, side="left")
    n = np.minimum(np.searchsorted(ordered, passage, side="right") - first, max(1, _MAX_PAIRS // max(1, len(passage))))
    in_document = order[np.arange(n.sum()) + np.repeat(first - np.cumsum(n) + n, n)]
    return np.repeat(np.arange(len(passage)), n), in_document


def _longest_stretches(position: Ints, other_position: Ints) -> Iterator[tuple[int, int, int]]:
    """Yield (position, place, number of characters) of stretches of equal runs, the longest first.

    A stretch loses the characters that belong to a longer one.
    """
    shift = other_position - position
    order = np.lexsort((position, shift))
    position, shift = position[order], shift[order]
    is_first = np.append(True, (np.diff(position) != 1) | (np.diff(shift) != 0))[: len(position)]
    first = np.flatnonzero(is_first)
    lengths = np.diff(np.append(first, len(position))) + RUN - 1
    is_free = np.ones(int(position.max(initial=-RUN)) + RUN, dtype=bool)
    n_left = int(np.count_nonzero(_coverage_mask(position, len(is_free))))
    for piece in np.lexsort((shift[first], -lengths)).tolist():
        start, by = int(position[first[piece]]), int(shift[first[piece]])
        free = np.flatnonzero(is_free[start : start + lengths[piece]]) + start
        for part in np.split(free, np.flatnonzero(np.diff(free) != 1) + 1) if len(free) else ():
            yield int(part[0]), int(part[0]) + by, len(part)
        is_free[free] = False
        n_left -= len(free)
        if not n_left:
            return


def _coverage_mask(position: Ints, n_characters: int) -> NDArray[np.bool_]:
    """Return True for each character in a run that begins at one of the positions."""
    steps = np.bincount(position, minlength=n_characters + 1) - np.bincount(position + RUN, minlength=n_characters + 1)
    covered: NDArray[np.bool_] = np.cumsum(steps)[:n_characters] > 0
    return covered


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def contained_number_share(passage: str, document: str) -> float:
    """Return the share of a passage's distinct numbers that a document contains; 1 for a passage without numbers."""
    numbers = set(_NUMBER.findall(passage))
    return len(numbers.intersection(_NUMBER.findall(document))) / len(numbers) if numbers else 1.0


def copied_number_share(passage: str, document: str, pieces: Iterable[Segment]) -> float:
    """Return the share of a passage's distinct numbers that a document repeats in the place of each; 1 for a passage
    without numbers.

    A number in one of the `pieces` has one place. Any other number may be up to `RUN` characters from where the
    neighbouring pieces leave room for it. The document's other text does not count: 18 is not repeated where the
    document has 14, 180 or 1.18 instead, even if it has an 18 elsewhere.
    """
    in_passage = list(_NUMBER.finditer(passage))
    in_document = list(_NUMBER.finditer(document)) if in_passage else []
    starts = [number.start() for number in in_document]
    ordered = sorted(pieces)
    repeated: dict[str, bool] = {}
    for number in in_passage:
        low, high = _place(*number.span(), ordered)
        near = in_document[bisect_left(starts, low) : bisect_right(starts, high)]
        is_repeated = any(other.group() == number.group() and other.end() <= high for other in near)
        repeated[number.group()] = repeated.get(number.group(), True) and is_repeated
    return sum(repeated.values()) / len(repeated) if repeated else 1.0


def _place(start: int, end: int, pieces: Sequence[Segment]) -> tuple[int, int]:
    """Return the characters of the document among which the characters [start, end) of the passage have their place.

    They are [0, -1), without a place, if the neighbouring pieces are far apart in the document.
    """
    before = next((piece for piece in reversed(pieces) if piece.start <= start), None)
    after = next((piece for piece in pieces if end <= piece.start + piece.length), None)
    if before and before == after:
        return start - before.start + before.place, end - before.start + before.place
    if before is None and after is None:
        return 0, -1
    lows, highs = [], []
    if before:
        lows.append(before.place + before.length - RUN)
        highs.append(before.place + end - before.start + RUN)
    if after:
        lows.append(after.place + start - after.start - RUN)
        highs.append(after.place + RUN)
    low, high = min(lows), max(highs)
    return (low, high) if high - low <= end - start + 6 * RUN else (0, -1)


class _Compact(NamedTuple):
    """A text without whitespace: its characters, and their places in the text."""

    codes: NDArray[np.uint32]
    places: Ints


def _compact(text: str) -> _Compact:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    places = np.flatnonzero(~_is_space()[codes])
    return _Compact(codes[places], places)


@cache
def _is_space() -> NDArray[np.bool_]:
    is_space = np.zeros(_N_CODES, dtype=bool)
    is_space[: _LAST_SPACE + 1] = [chr(code).isspace() for code in range(_LAST_SPACE + 1)]
    return is_space


def _hashes(codes: NDArray[np.uint32]) -> Hashes:
    """Return a hash of every run of characters."""
    n = max(0, len(codes) - RUN + 1)
    hashes = np.zeros(n, dtype=np.uint64)
    for offset in range(RUN if n else 0):
        hashes = hashes * _FACTOR + codes[offset : offset + n]
        hashes ^= hashes >> np.uint64(31)
    return hashes


def _build_table(hashes: Hashes) -> NDArray[np.bool_]:
    """Return a table of the low bits that occur among the hashes. It rejects most other hashes without a search."""
    table = np.zeros(1 << max(10, (16 * len(hashes)).bit_length()), dtype=bool)
    table[hashes & np.uint64(len(table) - 1)] = True
    return table


def _find(hashes: Hashes, among: Hashes) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the index of each hash in `among` (sorted, distinct), and whether the hash occurs there."""
    if not len(among):
        return np.zeros(len(hashes), dtype=np.int64), np.zeros(len(hashes), dtype=bool)
    index = np.minimum(np.searchsorted(among, hashes), len(among) - 1)
    return index, among[index] == hashes


def _original_segments(passage: Ints, document: Ints) -> Iterator[Segment]:
    """Yield a segment in offsets of the original texts, split where whitespace differs."""
    breaks = np.flatnonzero(np.diff(passage - document) != 0) + 1
    for mine, theirs in zip(np.split(passage, breaks), np.split(document, breaks), strict=True):
        yield Segment(int(mine[0]), int(theirs[0]), int(mine[-1] - mine[0]) + 1)
