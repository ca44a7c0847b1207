"""Locates gold texts in a corpus.

CRUD-RAG gives its gold as text, not as document ids. Its passages may begin and end anywhere, lose or gain line breaks,
and span two documents. Therefore a passage is found by the runs of characters that it shares with documents.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Evidence
from components.text.shared_passages import Coverage, SharedPassages, segments

_MAX_EQUAL_DOCUMENTS = 5
"""Maximum number of documents that add equally much to the best document. Text in more documents is boilerplate, such
as a notice at the end of a page, and is not evidence.
"""


class PassageFinder:
    """Index of documents in which to find `passages`."""

    def __init__(self, passages: Sequence[str], min_overlap: float) -> None:
        """Set `min_overlap`, in (0, 1]: the share of a passage's characters, without whitespace, that must occur."""
        self._number = {passage: number for number, passage in enumerate(passages)}
        self._shared = SharedPassages(passages)
        self._min_overlap = min_overlap
        self._ids: list[str] = []
        self._texts: list[str] = []

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Add documents. `find` prefers the document that was added first if several are equally good."""
        self._shared.add(texts)
        self._ids += ids
        self._texts += texts

    def find(self, passage: str) -> tuple[Evidence, ...]:
        """Return the spans of one of the `passages`.

        The place is a span of one document that contains enough of the passage. Otherwise, it is spans of two documents
        that together contain enough of the passage, or the first span if the second adds only boilerplate. If the
        corpus lacks the passage, it is (). A span extends from the first to the last shared character.
        """
        coverage = self._shared.coverage(self._number[passage])
        needed = self._min_overlap * coverage.n_characters
        if not len(coverage.documents):
            return ()
        best = int(np.argmax(coverage.n_covered))
        if coverage.n_covered[best] >= needed:
            return (self._span(passage, int(coverage.documents[best])),)
        # The passage may span two documents: the second is the document that adds most to the first.
        added = _n_added(coverage, best)
        second = int(np.argmax(added))
        if coverage.n_covered[best] + added[second] >= needed:
            if np.count_nonzero(added == added[second]) > _MAX_EQUAL_DOCUMENTS:
                return (self._span(passage, int(coverage.documents[best])),)
            documents = coverage.documents[sorted((best, second))].tolist()
            return tuple(self._span(passage, document) for document in documents)
        return ()

    def _span(self, passage: str, document: int) -> Evidence:
        matched = list(segments(passage, self._texts[document]))
        first = min(segment.place for segment in matched)
        last = max(segment.place + segment.length for segment in matched)
        return Evidence(self._ids[document], first, last)


def _n_added(coverage: Coverage, best: int) -> NDArray[np.int64]:
    """Count the characters of the passage that each document covers and the best one does not, int64[n_documents]."""
    is_new = np.ones(coverage.n_characters, dtype=np.int64)
    is_best = coverage.document_of_piece == coverage.documents[best]
    for start, end in zip(coverage.position[is_best].tolist(), coverage.end[is_best].tolist(), strict=True):
        is_new[start:end] = 0
    n_new = np.append(0, np.cumsum(is_new))
    rows = np.searchsorted(coverage.documents, coverage.document_of_piece)
    added = n_new[coverage.end] - n_new[coverage.position]
    return np.bincount(rows, weights=added, minlength=len(coverage.documents)).astype(np.int64)
