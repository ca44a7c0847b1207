"""Refined texts assembled from pieces, each with its origin in the original text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from components.records import Documents, Origins, RefinedDocuments


class Piece(NamedTuple):
    """A part of a refined text, derived from the characters [start, end) of the original text. An added part
    derives from no characters.

    It may be a copy of these characters.
    """

    text: str
    start: int = 0
    end: int = 0


def copy_piece(text: str, start: int = 0, end: int | None = None) -> Piece:
    """Return the characters [start, end) of a text as an unchanged piece. Without an `end`, the piece ends with the
    text.
    """
    end = len(text) if end is None else end
    return Piece(text[start:end], start, end)


def assemble_documents(
    documents: Documents, pieces: Sequence[Sequence[Piece]], counts: Mapping[str, int] | None = None
) -> RefinedDocuments:
    """Return the documents with texts joined from `pieces`, one sequence per document in their order."""
    texts, rows = [], []
    for document, (document_pieces, original) in enumerate(zip(pieces, documents.texts, strict=True)):
        texts.append("".join(piece.text for piece in document_pieces))
        rows += [(document, *row) for row in _rows(document_pieces, original)]
    columns = np.array(rows, dtype=np.int32).reshape(-1, 6)
    document_rows, start, end, original_start, original_end, is_copy = (
        np.ascontiguousarray(part) for part in columns.T
    )
    return RefinedDocuments(
        documents.ids,
        documents.titles,
        texts,
        documents.metadata,
        origins=Origins(document_rows, start, end, original_start, original_end, is_copy.astype(bool)),
        counts=dict(counts or {}),
    )


def _rows(pieces: Sequence[Piece], original: str) -> list[tuple[int, int, int, int, bool]]:
    """Return the origins of one text's pieces. Copies that are consecutive in both texts become one row."""
    rows: list[tuple[int, int, int, int, bool]] = []
    position = 0
    for text, start, end in pieces:
        if text and start < end:
            is_copy = text == original[start:end]
            before = rows[-1] if rows else None
            if before and is_copy and before[4] and (before[1], before[3]) == (position, start):
                rows[-1] = (before[0], position + len(text), before[2], end, True)
            else:
                rows.append((position, position + len(text), start, end, is_copy))
        position += len(text)
    return rows
