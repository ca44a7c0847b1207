"""Batches of equal cost, measured in tokens instead of texts.

A batch is padded to its longest text, so its cost is the number of rows times that length. Texts of similar length form
a batch: a few long ones, or many short ones.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

A = TypeVar("A")
B = TypeVar("B")

MAX_ROWS = 4096
"""Maximum number of rows in a batch of short texts."""


def batch_tokens_problems(batch_tokens: int | None) -> list[str]:
    """Return an error message for a batch without room for a token. None lets the device choose."""
    if batch_tokens is None or batch_tokens >= 1:
        return []
    return [f"batch_tokens: got {batch_tokens}, expected at least 1, or null to choose by device"]


def batch_by_length(lengths: ArrayLike, max_padded: int) -> Iterator[NDArray[np.int64]]:
    """Yield the positions of each batch, int64[n_rows]. `lengths` is int[n]; there are no batches if it is empty.

    The longest texts come first, so that an out-of-memory error occurs early. Texts of equal length keep their order.
    The number of rows times the longest length is at most `max_padded`, except for a single longer text.
    """
    all_lengths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-all_lengths, kind="stable")
    first = 0
    while first < len(order):
        longest = max(int(all_lengths[order[first]]), 1)
        n_rows = min(max(max_padded // longest, 1), MAX_ROWS)
        yield order[first : first + n_rows]
        first += n_rows


def prepare_ahead(prepare: Callable[[A], B], items: Iterable[A]) -> Iterator[tuple[A, B]]:
    """Yield each item with its result of `prepare`, which a thread computes while the caller uses the previous item."""
    with ThreadPoolExecutor(1) as ahead:
        waiting = None
        for item in items:
            following = item, ahead.submit(prepare, item)
            if waiting:
                yield waiting[0], waiting[1].result()
            waiting = following
        if waiting:
            yield waiting[0], waiting[1].result()
