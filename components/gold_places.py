"""Characters of gold in spans of documents. Copies of gold documents that count as gold are included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.gold_copies import GoldCopies, gold_units
from components.records import Sample

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SampleSpans:
    """Spans of documents, as int64 columns of equal length.

    `sample` is the position of the span's sample, and `document` the position of its document in the corpus. `start`
    and `end` are character positions in the document.
    """

    sample: Ints
    document: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True)
class GoldPieces:
    """Characters of gold that spans contain, as int64 columns of equal length.

    `span` is a position among the spans, non-decreasing. `gold` is a position among the gold units of all samples in
    sequence. `start` and `end` are character positions in the unit, from 0.
    """

    span: Ints
    gold: Ints
    start: Ints
    end: Ints

    def n_characters(self, n_units: int) -> Ints:
        """Count the distinct characters of each unit that the spans contain together, int64[n_units]."""
        order = np.lexsort((self.start, self.gold))
        gold, start, end = self.gold[order], self.start[order], self.end[order]
        # Units are laid end to end on one number line, so that one running maximum serves all of them.
        base = gold * (int(end.max(initial=0)) + 1)
        covered = np.append(0, np.maximum.accumulate(base + end)[:-1]) if len(gold) else base
        n_new = np.maximum(base + end - np.maximum(base + start, covered), 0)
        counts: Ints = np.bincount(gold, weights=n_new, minlength=n_units).astype(np.int64)
        return counts


class GoldLocator:
    """Places of the samples' gold in a corpus."""

    def __init__(
        self, samples: Sequence[Sample], positions: Mapping[str, int], lengths: NDArray[np.int32], copies: GoldCopies
    ) -> None:
        """Index the gold of `samples`.

        `positions` maps the ids of gold documents in the corpus to their positions. `lengths` int32[n_documents] are
        the characters of all documents. `copies` are the copies of these samples' gold.
        """
        number = {unit: i for i, unit in enumerate(gold_units(samples))}
        units = [(row, unit) for row, sample in enumerate(samples) for unit in sample.gold]
        self._length: list[int | None] = []
        originals: list[tuple[int, ...]] = []
        first_of: dict[int, list[int]] = {}
        for gold, (row, unit) in enumerate(units):
            document = positions.get(unit.document_id)
            start = unit.start or 0
            end = start if document is None else int(lengths[document]) if unit.end is None else unit.end
            self._length.append(None if document is None else end - start)
            if document is not None:
                originals.append((row, gold, document, start, end, 0))
            first_of.setdefault(number[unit.document_id, unit.start, unit.end], []).append(gold)
        copied = [
            (units[gold][0], gold, copy, copy_start, copy_start + length, gold_start - (units[gold][1].start or 0))
            for unit, copy, copy_start, gold_start, length in zip(
                copies.unit.tolist(),
                copies.copy.tolist(),
                copies.copy_start.tolist(),
                copies.gold_start.tolist(),
                copies.length.tolist(),
                strict=True,
            )
            for gold in first_of.get(unit, ())
        ]
        rows = np.array([*originals, *copied], dtype=np.int64).reshape(-1, 6)
        self._n_documents = len(lengths)
        self._places = rows[np.lexsort((rows[:, 1], rows[:, 2], rows[:, 0]))]

    @property
    def lengths(self) -> Sequence[int | None]:
        """Return the characters of each gold unit of all samples in sequence, or None if its document is not in the
        corpus.
        """
        return self._length

    def find_pieces(self, spans: SampleSpans) -> GoldPieces:
        """Return the parts of gold that each span contains, counting only gold of the span's sample."""
        places = self._places
        keys = places[:, 0] * self._n_documents + places[:, 2]
        searched = spans.sample * self._n_documents + spans.document
        first = np.searchsorted(keys, searched, side="left")
        n = np.searchsorted(keys, searched, side="right") - first
        span = np.repeat(np.arange(len(searched)), n)
        place = places[np.arange(len(span)) + np.repeat(first - np.cumsum(n) + n, n)]
        start = np.maximum(spans.start[span], place[:, 3])
        end = np.minimum(spans.end[span], place[:, 4])
        shift = place[:, 5] - place[:, 3]
        is_held = start < end
        return GoldPieces(*(column[is_held] for column in (span, place[:, 1], start + shift, end + shift)))
