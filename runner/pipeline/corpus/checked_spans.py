"""Checks the chunks of a chunker before they are stored. A chunk beyond its document would be scored."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Spans
from runner.engine.broken_contracts import broken_contract


def text_lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of characters of each text, int64[n]."""
    return np.fromiter((len(text) for text in texts), dtype=np.int64, count=len(texts))


def checked_spans(spans: Spans, lengths: NDArray[np.integer], chunker: object) -> Spans:
    """Return `spans` if they are valid chunks of documents with these numbers of characters: see `Chunker.chunk`.

    Raises ComponentError, which names the class of the chunker.
    """
    if mistake := _mistake(spans, lengths):
        raise broken_contract(chunker, mistake)
    return spans


def _mistake(spans: object, lengths: NDArray[np.integer]) -> str:
    """Describe a contract violation; "" without one."""
    if not isinstance(spans, Spans):
        return f"returned {type(spans).__name__}, expected Spans"
    columns = spans.document, spans.start, spans.end
    if not all(isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iu" for column in columns):
        return "returned Spans with other columns than integer arrays of one dimension"
    document, start, end = columns
    if not len(document) == len(start) == len(end):
        return f"returned columns of {len(document)}, {len(start)} and {len(end)} rows, expected equal lengths"
    for row in _first((document < 0) | (document >= len(lengths))):
        return f"chunk {row} is of document {document[row]}, expected 0 to {len(lengths) - 1}"
    for row in _first((start < 0) | (start >= end) | (end > lengths[document])):
        return (
            f"chunk {row} is characters {start[row]} to {end[row]} of document {document[row]}, which has "
            f"{lengths[document[row]]}; expected 0 <= start < end <= characters"
        )
    is_sorted = (document[1:] > document[:-1]) | ((document[1:] == document[:-1]) & (start[1:] >= start[:-1]))
    for row in _first(~is_sorted):
        return f"chunk {row + 1} begins before chunk {row}, expected chunks sorted by document and start"
    return ""


def _first(is_wrong: NDArray[np.bool_]) -> list[int]:
    """Return the first wrong row; [] if no row is wrong."""
    return [int(row) for row in np.flatnonzero(is_wrong)[:1]]
