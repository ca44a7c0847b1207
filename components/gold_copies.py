"""Copies and near-copies of gold evidence, which a retriever may find instead of the gold.

News and filings are often reprinted. A retriever that finds a reprint of the gold document has found the evidence, but
a metric that knows only the gold document counts a miss. A copy contains at least 80% of the characters of a gold unit
(in runs of 10, ignoring whitespace). It also contains 80% of its numbers, so that two filled-in forms are not copies
of each other. The copy of a passage has them in their places: the other text of its document says nothing about the
passage. The copy of a document may have its date in another line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.records import Documents, Evidence, Sample
from components.text.shared_passages import (
    Segment,
    SharedPassages,
    contained_number_share,
    copied_number_share,
    segments,
)

MIN_OVERLAP = 0.8
MIN_CHARACTERS = 50
"""Length below which a gold unit, such as a phrase, also occurs in documents that are not copies."""
MAX_COPIES = 50
"""Maximum number of copies of a gold unit. Text in more documents is boilerplate, such as a notice at the end of every
page, and finding it earns no credit.
"""

Span = tuple[int, int, int]
"""(document position, start, end)."""
_Unit = tuple[str, int | None, int | None]


@dataclass(frozen=True)
class GoldCopies:
    """Equal characters of gold units and their copies, as columns of equal length, sorted by `unit`.

    `unit` int32 is a position among `gold_units`. `gold` and `copy` int32 are positions of documents in the corpus.
    `gold_start` and `copy_start` int32 are character positions in these documents, and `length` int32 is in characters.
    """

    unit: NDArray[np.int32]
    gold: NDArray[np.int32]
    gold_start: NDArray[np.int32]
    copy: NDArray[np.int32]
    copy_start: NDArray[np.int32]
    length: NDArray[np.int32]

    def counts(self) -> dict[str, int]:
        """Return the numbers of gold units with copies, of copies, and of documents that contain copies."""
        pairs = set(zip(self.unit.tolist(), self.copy.tolist(), strict=True))
        return {
            "n_gold_units_with_copies": len({unit for unit, _ in pairs}),
            "n_copies_of_gold_units": len(pairs),
            "n_documents_that_copy_gold": len({document for _, document in pairs}),
        }


def empty_copies() -> GoldCopies:
    """Return an empty set of copies. With it, only the gold itself counts."""
    return _columns([])


def gold_units(samples: Sequence[Sample]) -> list[_Unit]:
    """Return the distinct gold units of all samples as (document id, start, end), in order of appearance."""
    return list(dict.fromkeys(_key(unit) for sample in samples for unit in sample.gold))


def find_copies(samples: Sequence[Sample], documents: Documents) -> GoldCopies:
    """Return the copies of all gold units in the corpus.

    If a sample searches only a part of the corpus, its gold has copies only in that part.
    """
    positions = {document_id: i for i, document_id in enumerate(documents.ids)}
    prefix = {_key(unit): sample.corpus_prefix for sample in samples for unit in sample.gold}
    units = [(number, unit) for number, unit in enumerate(gold_units(samples)) if unit[0] in positions]
    texts = [documents.texts[positions[unit[0]]][unit[1] : unit[2]] for _, unit in units]
    shared = SharedPassages(texts)
    shared.add(documents.texts)
    rows: list[tuple[int, ...]] = []
    for row, ((number, unit), text) in enumerate(zip(units, texts, strict=True)):
        coverage = shared.coverage(row)
        if coverage.n_characters < MIN_CHARACTERS:
            continue
        enough = coverage.n_covered >= MIN_OVERLAP * coverage.n_characters
        if np.count_nonzero(enough) > MAX_COPIES:
            continue
        for copy in coverage.documents[enough].tolist():
            if copy == positions[unit[0]] or not documents.ids[copy].startswith(prefix[unit]):
                continue
            pieces = list(segments(text, documents.texts[copy]))
            if _number_share(unit, text, documents.texts[copy], pieces) >= MIN_OVERLAP:
                first = unit[1] or 0
                rows += [
                    (number, positions[unit[0]], first + piece.start, copy, piece.place, piece.length)
                    for piece in pieces
                ]
    return _columns(rows)


def _number_share(unit: _Unit, text: str, document: str, pieces: Sequence[Segment]) -> float:
    is_document = unit[1] is None
    return contained_number_share(text, document) if is_document else copied_number_share(text, document, pieces)


def _columns(rows: Sequence[tuple[int, ...]]) -> GoldCopies:
    columns = np.array(rows, dtype=np.int32).reshape(-1, 6)
    return GoldCopies(*(np.ascontiguousarray(column) for column in columns.T))


def _key(unit: Evidence) -> _Unit:
    return (unit.document_id, unit.start, unit.end)


class GoldCredit:
    """Gives copies of gold the credit of the gold that they repeat."""

    def __init__(self, samples: Sequence[Sample], documents: Documents, copies: GoldCopies) -> None:
        self._samples = samples
        self._ids = documents.ids
        self._copies = copies
        number = {unit: i for i, unit in enumerate(gold_units(samples))}
        bounds = np.searchsorted(copies.unit, np.arange(len(number) + 1))
        self._rows = {unit: range(bounds[i], bounds[i + 1]) for unit, i in number.items() if bounds[i] < bounds[i + 1]}

    def rankings(self, rankings: Sequence[Sequence[str]]) -> list[Sequence[str]]:
        """Return the rankings of document ids with the best-ranked copy of a gold document renamed to that document.

        A copy that is gold itself keeps its id. Rankings without a copy are returned as the same objects.
        """
        pairs = zip(self._samples, rankings, strict=True)
        return [_rename(ranking, self._gold_by_copy(sample)) for sample, ranking in pairs]

    def spans(self, spans: Sequence[Sequence[Span]]) -> list[list[Span]]:
        """Return the spans of each sample, followed by the spans of its gold that they repeat word for word."""
        pairs = zip(self._samples, spans, strict=True)
        return [[*sample_spans, *self._mirror(sample, sample_spans)] for sample, sample_spans in pairs]

    def _gold_by_copy(self, sample: Sample) -> Mapping[str, str]:
        gold_ids = {unit.document_id for unit in sample.gold}
        gold_by_copy: dict[str, str] = {}
        for unit in sample.gold:
            rows = self._rows.get(_key(unit), range(0))
            for copy in np.unique(self._copies.copy[rows.start : rows.stop]).tolist():
                gold_by_copy.setdefault(self._ids[copy], unit.document_id)
        return {copy: gold for copy, gold in gold_by_copy.items() if copy not in gold_ids}

    def _mirror(self, sample: Sample, spans: Sequence[Span]) -> list[Span]:
        copies, mirrored = self._copies, []
        for unit in sample.gold:
            for row in self._rows.get(_key(unit), ()):
                copy_start, length = int(copies.copy_start[row]), int(copies.length[row])
                for document, start, end in spans:
                    first, last = max(start, copy_start), min(end, copy_start + length)
                    if document == copies.copy[row] and first < last:
                        shift = int(copies.gold_start[row]) - copy_start
                        mirrored.append((int(copies.gold[row]), first + shift, last + shift))
        return mirrored


def _rename(ranking: Sequence[str], names: Mapping[str, str]) -> Sequence[str]:
    if names.keys().isdisjoint(ranking):
        return ranking
    return list(dict.fromkeys(names.get(document, document) for document in ranking))
