"""Checks the chunks of a chunker and the origins of refined texts before they are stored.

A chunk beyond its document would be scored. A wrong origin would credit evidence that was not found.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Origins, Spans
from runner.engine.broken_contracts import contract_error


def text_lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of characters of each text, int64[n]."""
    return np.fromiter((len(text) for text in texts), dtype=np.int64, count=len(texts))


def validate_spans(spans: Spans, lengths: NDArray[np.integer], chunker: object) -> Spans:
    """Return `spans` if they are valid chunks of documents with these numbers of characters: see `Chunker.chunk`.

    Otherwise raises ComponentError, which names the chunker's class.
    """
    if problem := _problem(spans, lengths):
        raise contract_error(chunker, problem)
    return spans


def _problem(spans: object, lengths: NDArray[np.integer]) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(spans, Spans):
        return f"returned {type(spans).__name__}, expected Spans"
    columns = spans.document, spans.start, spans.end
    if not all(isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iu" for column in columns):
        return "returned Spans whose columns are not one-dimensional integer arrays"
    document, start, end = columns
    if not len(document) == len(start) == len(end):
        return f"returned columns of {len(document)}, {len(start)} and {len(end)} rows, expected equal lengths"
    for row in _first((document < 0) | (document >= len(lengths))):
        return f"chunk {row} is of document {document[row]}, expected 0 to {len(lengths) - 1}"
    for row in _first((start < 0) | (start >= end) | (end > lengths[document])):
        return (
            f"chunk {row} is characters {start[row]} to {end[row]} of document {document[row]}, which has "
            f"{lengths[document[row]]}, expected 0 <= start < end <= characters"
        )
    is_sorted = (document[1:] > document[:-1]) | ((document[1:] == document[:-1]) & (start[1:] >= start[:-1]))
    for row in _first(~is_sorted):
        return f"chunk {row + 1} begins before chunk {row}, expected chunks sorted by document and start"
    return ""


def check_origins(origins: Origins, texts: Sequence[str], originals: Sequence[str], refinement: object) -> None:
    """Raise ComponentError, which names the class of the refinement, for invalid origins.

    Origins are invalid if a piece is outside `texts` or `originals`, or if a copy differs from its original.
    """
    if problem := _origins_problem(origins, texts, originals):
        raise contract_error(refinement, problem)


def _origins_problem(origins: object, texts: Sequence[str], originals: Sequence[str]) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(origins, Origins):
        return f"returned {type(origins).__name__} as origins, expected Origins"
    columns = vars(origins).values()
    if not all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns):
        return "returned Origins whose columns are not one-dimensional arrays"
    if origins.is_copy.dtype != bool or any(
        column.dtype.kind not in "iu" for column in columns if column is not origins.is_copy
    ):
        return "returned Origins whose columns are not integers, with booleans in is_copy"
    if len({len(column) for column in columns}) > 1:
        return f"returned Origins with columns of {[len(column) for column in columns]} rows, expected equal lengths"
    return _misplaced_piece(origins, text_lengths(texts), text_lengths(originals)) or _changed_copy(
        origins, texts, originals
    )


def _misplaced_piece(origins: Origins, lengths: NDArray[np.int64], original_lengths: NDArray[np.int64]) -> str:
    document, start, end = origins.document, origins.start, origins.end
    first, last = origins.original_start, origins.original_end
    for row in _first((document < 0) | (document >= len(lengths))):
        return f"piece {row} is of document {document[row]}, expected 0 to {len(lengths) - 1}"
    for row in _first((start < 0) | (start >= end) | (end > lengths[document])):
        return (
            f"piece {row} is characters {start[row]} to {end[row]} of the refined document {document[row]}, which "
            f"has {lengths[document[row]]}, expected 0 <= start < end <= characters"
        )
    for row in _first((first < 0) | (first >= last) | (last > original_lengths[document])):
        return (
            f"piece {row} comes from characters {first[row]} to {last[row]} of document {document[row]}, which "
            f"has {original_lengths[document[row]]}, expected 0 <= original_start < original_end <= characters"
        )
    is_behind = (document[1:] > document[:-1]) | ((document[1:] == document[:-1]) & (start[1:] >= end[:-1]))
    for row in _first(~is_behind):
        return f"piece {row + 1} begins before the end of piece {row}, expected pieces sorted by document and start"
    return ""


def _changed_copy(origins: Origins, texts: Sequence[str], originals: Sequence[str]) -> str:
    """Describe a copy that differs from its original, or return "" if all copies are equal to it."""
    rows = zip(*(column.tolist() for column in vars(origins).values()), strict=True)
    for row, (document, start, end, first, last, is_copy) in enumerate(rows):
        if is_copy and texts[document][start:end] != originals[document][first:last]:
            return (
                f"piece {row} is a copy, but characters {start} to {end} of the refined document {document} "
                f"differ from characters {first} to {last} of the document, expected equal texts, or is_copy=False"
            )
    return ""


def _first(is_wrong: NDArray[np.bool_]) -> list[int]:
    """Return the first wrong row; [] if no row is wrong."""
    return [int(row) for row in np.flatnonzero(is_wrong)[:1]]
