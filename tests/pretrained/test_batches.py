import threading
from collections.abc import Sequence

import numpy as np
import pytest

from components.pretrained.batches import MAX_ROWS, batch_by_length, prepare_ahead


def batches(lengths: Sequence[int], max_padded: int) -> list[list[int]]:
    return [rows.tolist() for rows in batch_by_length(lengths, max_padded)]


def test_length_batches_group_similar_lengths_longest_first() -> None:
    assert batches([1, 8, 2, 7, 1, 2], 16) == [[1, 3], [2, 5, 0, 4]]


def test_length_batches_contain_each_text_once_and_respect_the_limit() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, size=500)
    found = list(batch_by_length(lengths, 1000))
    assert sorted(np.concatenate(found).tolist()) == list(range(500))
    assert all(len(rows) * lengths[rows].max() <= 1000 for rows in found)
    assert len(found) < 1.1 * lengths.sum() / 1000 + 1


def test_text_longer_than_a_batch_forms_its_own_batch() -> None:
    assert batches([5, 50, 5], 10) == [[1], [0, 2]]


def test_empty_texts_fill_at_most_the_row_limit_of_a_batch() -> None:
    assert [len(rows) for rows in batches([0] * (MAX_ROWS + 1), 10**9)] == [MAX_ROWS, 1]


def test_empty_text_list_has_no_batches() -> None:
    assert batches([], 10) == []


def test_next_batch_is_prepared_during_work_on_the_current_one() -> None:
    prepared = [threading.Event() for _ in range(3)]

    def prepare(item: int) -> str:
        prepared[item].set()
        return f"prepared {item}"

    seen = []
    for item, found in prepare_ahead(prepare, range(3)):
        assert item == 2 or prepared[item + 1].wait(timeout=10)
        assert not any(event.is_set() for event in prepared[item + 2 :])
        seen.append(found)
    assert seen == ["prepared 0", "prepared 1", "prepared 2"]


def test_exception_of_the_preparing_thread_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(prepare_ahead(lambda item: 1 // item, [1, 0]))
