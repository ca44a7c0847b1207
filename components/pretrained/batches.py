"""Batches of equal cost: what a model is given at once, counted in tokens and not in texts.

A batch is padded to its longest text, so that it costs its number of rows times that length. Texts of like lengths go
together, and as many as fit: a few long ones, or many short ones.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

A = TypeVar("A")
B = TypeVar("B")

MOST_ROWS = 4096
"""Of a batch, however short its texts are."""


def length_batches(lengths: ArrayLike, most_padded: int) -> Iterator[NDArray[np.int64]]:
    """Positions int64[n_rows] of each batch, the longest texts first, so that what does not fit into memory shows at
    once; texts of equal lengths stay in order. Rows times the longest of them is `most_padded` at most, save for a
    single text that is longer. `lengths` are int[n]; none give no batch.
    """
    all_lengths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-all_lengths, kind="stable")
    first = 0
    while first < len(order):
        longest = max(int(all_lengths[order[first]]), 1)
        n_rows = min(max(most_padded // longest, 1), MOST_ROWS)
        yield order[first : first + n_rows]
        first += n_rows


def prepared_ahead(prepare: Callable[[A], B], items: Iterable[A]) -> Iterator[tuple[A, B]]:
    """Each item with what `prepare` makes of it, which a thread does while the item before is worked on."""
    with ThreadPoolExecutor(1) as ahead:
        waiting = None
        for item in items:
            following = item, ahead.submit(prepare, item)
            if waiting:
                yield waiting[0], waiting[1].result()
            waiting = following
        if waiting:
            yield waiting[0], waiting[1].result()
