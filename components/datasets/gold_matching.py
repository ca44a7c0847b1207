"""Finds where gold texts occur in a corpus.

CRUD-RAG gives its gold as text, not as document ids, and its passages are windows that may begin and end anywhere, lose
or gain line breaks, and span two documents. So a passage is looked up by the runs of characters that it shares with
every document.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Evidence
from components.text.shared_passages import Coverage, SharedPassages, segments

_MOST_ALIKE = 5
"""What more documents than these could add equally well is boilerplate, such as a notice at the end of a page: none of
them is evidence.
"""


class PassageFinder:
    """Documents in which `passages` can be found."""

    def __init__(self, passages: Sequence[str], min_overlap: float) -> None:
        """`min_overlap` in (0, 1] is the share of a passage's characters that must occur, white space apart."""
        self._number = {passage: number for number, passage in enumerate(passages)}
        self._shared = SharedPassages(passages)
        self._min_overlap = min_overlap
        self._ids: list[str] = []
        self._texts: list[str] = []

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Adds documents. Of equally good ones, `find` takes the one that was added first."""
        self._shared.add(texts)
        self._ids += ids
        self._texts += texts

    def find(self, passage: str) -> tuple[Evidence, ...]:
        """Where one of the `passages` occurs: a span of one document that holds enough of it, or else spans of two
        documents that do so together (unless boilerplate is all that the second adds), or else nothing. A span goes
        from the first to the last shared character.
        """
        coverage = self._shared.coverage(self._number[passage])
        needed = self._min_overlap * coverage.n_characters
        if not len(coverage.documents):
            return ()
        best = int(np.argmax(coverage.n_covered))
        if coverage.n_covered[best] >= needed:
            return (self._span(passage, int(coverage.documents[best])),)
        # The passage may straddle two documents: the second is the one that adds most to the first.
        added = _added_to(coverage, best)
        second = int(np.argmax(added))
        if coverage.n_covered[best] + added[second] >= needed:
            if np.count_nonzero(added == added[second]) > _MOST_ALIKE:
                return (self._span(passage, int(coverage.documents[best])),)
            documents = coverage.documents[sorted((best, second))].tolist()
            return tuple(self._span(passage, document) for document in documents)
        return ()

    def _span(self, passage: str, document: int) -> Evidence:
        found = list(segments(passage, self._texts[document]))
        first = min(segment.place for segment in found)
        last = max(segment.place + segment.length for segment in found)
        return Evidence(self._ids[document], first, last)


def _added_to(coverage: Coverage, best: int) -> NDArray[np.int64]:
    """Characters of the passage that each document covers and the best one does not: int64[n_documents]."""
    is_new = np.ones(coverage.n_characters, dtype=np.int64)
    of_best = coverage.document_of_piece == coverage.documents[best]
    for start, end in zip(coverage.position[of_best].tolist(), coverage.end[of_best].tolist(), strict=True):
        is_new[start:end] = 0
    n_new = np.append(0, np.cumsum(is_new))
    rows = np.searchsorted(coverage.documents, coverage.document_of_piece)
    added = n_new[coverage.end] - n_new[coverage.position]
    return np.bincount(rows, weights=added, minlength=len(coverage.documents)).astype(np.int64)
