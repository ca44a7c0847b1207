import numpy as np
import pytest

from components.records import Terms
from components.text import sparse_counts
from components.text.sparse_counts import count_matrix, inverse_document_frequency

# Passages 0 1 1, (none), 1 2: the first and the last overlap.
TERMS = Terms(np.array([0, 1, 1, 2], dtype=np.int32), np.array([0, 3, 2]), np.array([3, 3, 4]), 4)


def test_term_counts_equal_hand_computed_values() -> None:
    matrix = count_matrix(TERMS)
    assert matrix.toarray().tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]]
    assert matrix.dtype == np.float32


def test_count_matrix_does_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_counts, "_ROWS_PER_BLOCK", 1)
    assert count_matrix(TERMS).toarray().tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]]


def test_empty_passage_list_has_an_empty_count_matrix() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert count_matrix(Terms(nothing.astype(np.int32), nothing, nothing, 4)).shape == (0, 4)


def test_inverse_document_frequency_equals_hand_computed_values() -> None:
    idf = inverse_document_frequency(count_matrix(TERMS))
    np.testing.assert_allclose(idf, np.log(1 + np.array([2.5 / 1.5, 1.5 / 2.5, 2.5 / 1.5, 3.5 / 0.5])))
