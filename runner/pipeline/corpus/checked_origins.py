"""Checks the origins of refined texts before they are stored. A wrong origin would credit evidence that was not
found.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Origins
from runner.engine.broken_contracts import broken_contract
from runner.pipeline.corpus.checked_spans import text_lengths


def check_origins(origins: Origins, texts: Sequence[str], originals: Sequence[str], refinement: object) -> None:
    """Raise ComponentError, which names the class of the refinement, for invalid origins.

    Origins are invalid if a piece is outside `texts` or `originals`, or if a copy differs from its original.
    """
    if mistake := _mistake(origins, texts, originals):
        raise broken_contract(refinement, mistake)


def _mistake(origins: object, texts: Sequence[str], originals: Sequence[str]) -> str:
    """Describe a contract violation; "" without one."""
    if not isinstance(origins, Origins):
        return f"returned {type(origins).__name__} as origins, expected Origins"
    columns = vars(origins).values()
    if not all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns):
        return "returned Origins with other columns than arrays of one dimension"
    if origins.is_copy.dtype != bool or any(
        own.dtype.kind not in "iu" for own in columns if own is not origins.is_copy
    ):
        return "returned Origins with other columns than integers, and booleans in is_copy"
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
            f"piece {row} is characters {start[row]} to {end[row]} of the refined document {document[row]}, which has "
            f"{lengths[document[row]]}; expected 0 <= start < end <= characters"
        )
    for row in _first((first < 0) | (first >= last) | (last > original_lengths[document])):
        return (
            f"piece {row} comes from characters {first[row]} to {last[row]} of document {document[row]}, which has "
            f"{original_lengths[document[row]]}; expected 0 <= original_start < original_end <= characters"
        )
    is_behind = (document[1:] > document[:-1]) | ((document[1:] == document[:-1]) & (start[1:] >= end[:-1]))
    for row in _first(~is_behind):
        return f"piece {row + 1} begins before the end of piece {row}, expected pieces sorted by document and start"
    return ""


def _changed_copy(origins: Origins, texts: Sequence[str], originals: Sequence[str]) -> str:
    """Describe a copy that differs from its original; "" without one."""
    rows = zip(*(column.tolist() for column in vars(origins).values()), strict=True)
    for row, (document, start, end, first, last, is_copy) in enumerate(rows):
        if is_copy and texts[document][start:end] != originals[document][first:last]:
            return (
                f"piece {row} is a copy, but characters {start} to {end} of the refined document {document} differ "
                f"from characters {first} to {last} of the document; expected equal texts, or is_copy=False"
            )
    return ""


def _first(is_wrong: NDArray[np.bool_]) -> list[int]:
    """Return the first wrong row; [] if no row is wrong."""
    return [int(row) for row in np.flatnonzero(is_wrong)[:1]]
