"""The resamples of a bootstrap: which rows are drawn, how often.

They depend on a number of rows and a seed alone, and a sweep asks for the same ones in every subset of as many rows, in
every stage: small ones are remembered, within bounds.
"""

from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_BLOCK_ELEMENTS = 1_000_000
_KEPT_BYTES = 64_000_000
_LARGEST_KEPT = 8_000_000

Counts = NDArray[np.unsignedinteger[Any]]


@cache
def _blas() -> ThreadpoolController:
    """The products are small: threads would spend more time waiting for one another than they save."""
    return ThreadpoolController().select(user_api="blas")


class Draws:
    """How often each of `n` rows is in each resample."""

    def __init__(self, n: int, n_resamples: int, seed: tuple[int, ...]) -> None:
        self._n, self._n_resamples, self._seed = n, n_resamples, seed
        n_bytes = n * n_resamples * np.min_scalar_type(n).itemsize
        self._kept = list(self._drawn()) if n_bytes <= _LARGEST_KEPT else None

    @property
    def n_bytes(self) -> int:
        """What it holds on to, at least what an empty one does."""
        return 1000 + sum(block.nbytes for block in self._kept or [])

    def sums(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of values of the rows, float64[n_values, n], the sums in every resample: float64[n_values, n_resamples]."""
        sums = np.empty((len(rows), self._n_resamples), dtype=np.float64)
        first = 0
        with _blas().limit(limits=1):
            for counts in self._drawn() if self._kept is None else self._kept:
                last = first + counts.shape[1]
                np.matmul(rows, counts.astype(np.float64), out=sums[:, first:last])
                first = last
        return sums

    def _drawn(self) -> Iterator[Counts]:
        """Counts [n, n_in_block] in blocks of bounded size, as whole numbers of as few bytes as will do."""
        n, random = self._n, np.random.default_rng((*self._seed, self._n))
        block = max(1, _BLOCK_ELEMENTS // max(1, n))
        for first in range(0, self._n_resamples, block):
            n_in_block = min(block, self._n_resamples - first)
            drawn = random.integers(n, size=(n_in_block, n)) if n else np.zeros((n_in_block, 0), dtype=np.int64)
            drawn += n * np.arange(n_in_block)[:, np.newaxis]
            counts = np.bincount(drawn.ravel(), minlength=n_in_block * n).reshape(n_in_block, n)
            yield np.ascontiguousarray(counts.astype(np.min_scalar_type(n)).T)


class _Recent:
    """The draws asked for lately, within a number of bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, tuple[int, ...]], Draws] = OrderedDict()
        self._n_bytes = 0

    def get(self, n: int, n_resamples: int, seed: tuple[int, ...]) -> Draws:
        key = (n, n_resamples, seed)
        if key not in self._kept:
            self._kept[key] = Draws(*key)
            self._n_bytes += self._kept[key].n_bytes
            while self._n_bytes > _KEPT_BYTES:
                self._n_bytes -= self._kept.popitem(last=False)[1].n_bytes
        self._kept.move_to_end(key)
        return self._kept[key]


_recent = _Recent()


def draws_of(n: int, n_resamples: int, seed: tuple[int, ...]) -> Draws:
    """The resamples of n rows: those asked for lately are remembered, up to 64 MB of them in a process."""
    return _recent.get(n, n_resamples, seed)
