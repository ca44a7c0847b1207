"""Chunks that break the contract are reported with the class of their chunker."""

import numpy as np
import pytest

from components.chunkers.whole import WholeDocuments
from components.errors import ComponentError
from components.records import Spans
from runner.pipeline.corpus.checked_spans import text_lengths, validate_spans

LENGTHS = text_lengths(["alpha", "be", ""])


def spans(*rows: tuple[int, int, int]) -> Spans:
    document, start, end = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    return Spans(document, start, end)


@pytest.mark.parametrize("rows", [(), ((0, 0, 5),), ((0, 0, 3), (0, 0, 5), (0, 2, 5), (1, 1, 2))])
def test_valid_spans_are_returned_unchanged(rows: tuple[tuple[int, int, int], ...]) -> None:
    own = spans(*rows)
    assert validate_spans(own, LENGTHS, WholeDocuments()) is own


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (spans((0, 0, 5), (1, 0, 3)), r"chunk 1 is characters 0 to 3 of document 1, which has 2, expected 0 <= start"),
        (spans((0, -1, 5)), "chunk 0 is characters -1 to 5"),
        (spans((0, 4, 4)), "chunk 0 is characters 4 to 4"),
        (spans((3, 0, 1)), "chunk 0 is of document 3, expected 0 to 2"),
        (spans((-1, 0, 1)), "chunk 0 is of document -1"),
        (spans((1, 0, 1), (0, 0, 1)), "chunk 1 begins before chunk 0"),
        (spans((0, 2, 3), (0, 1, 3)), "chunk 1 begins before chunk 0"),
        (Spans(*(np.zeros(1),) * 3), "columns are not one-dimensional integer arrays"),
        (Spans(*(np.zeros((1, 1), dtype=np.int32),) * 3), "columns are not one-dimensional integer arrays"),
        (Spans(np.zeros(1, np.int32), np.zeros(2, np.int32), np.ones(2, np.int32)), "columns of 1, 2 and 2 rows"),
        (None, "returned NoneType, expected Spans"),
    ],
)
def test_invalid_chunks_are_rejected(wrong: Spans, message: str) -> None:
    with pytest.raises(ComponentError, match=rf"components\.chunkers\.whole\.WholeDocuments: .*{message}"):
        validate_spans(wrong, LENGTHS, WholeDocuments())
