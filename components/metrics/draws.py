"""Resamples of a bootstrap: how often each row is drawn.

They depend only on the number of rows and a seed, and every stage of a sweep needs the same ones for equally large
subsets. Small resamples are therefore cached, up to a limit.
"""

from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_BLOCK_ELEMENTS = 1_000_000
_CACHED_BYTES = 64_000_000
_MAX_CACHED_BYTES = 8_000_000

Counts = NDArray[np.unsignedinteger[Any]]


@cache
def _blas() -> ThreadpoolController:
    """Return the BLAS controller. The products are small, so threads would wait for one another longer than they
    save.
    """
    return ThreadpoolController().select(user_api="blas")


class Draws:
    """The count of each of `n` rows in each resample."""

    def __init__(self, n: int, n_resamples: int, seed: tuple[int, ...]) -> None:
        self._n, self._n_resamples, self._seed = n, n_resamples, seed
        n_bytes = n * n_resamples * np.min_scalar_type(n).itemsize
        self._cached = list(self._draw_blocks()) if n_bytes <= _MAX_CACHED_BYTES else None

    @property
    def n_bytes(self) -> int:
        """Bytes that the object occupies, including a lower bound for an empty one."""
        return 1000 + sum(block.nbytes for block in self._cached or [])

    def sums(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums in every resample, float64[n_values, n_resamples], of values of the rows, float64[n_values,
        n].
        """
        sums = np.empty((len(rows), self._n_resamples), dtype=np.float64)
        first = 0
        with _blas().limit(limits=1):
            for counts in self._draw_blocks() if self._cached is None else self._cached:
                last = first + counts.shape[1]
                np.matmul(rows, counts.astype(np.float64), out=sums[:, first:last])
                first = last
        return sums

    def _draw_blocks(self) -> Iterator[Counts]:
        """Yield counts [n, n_in_block] in blocks of bounded size, as the smallest integer type that fits."""
        n, random = self._n, np.random.default_rng((*self._seed, self._n))
        block = max(1, _BLOCK_ELEMENTS // max(1, n))
        for first in range(0, self._n_resamples, block):
            n_in_block = min(block, self._n_resamples - first)
            indices = random.integers(n, size=(n_in_block, n)) if n else np.zeros((n_in_block, 0), dtype=np.int64)
            indices += n * np.arange(n_in_block)[:, np.newaxis]
            counts = np.bincount(indices.ravel(), minlength=n_in_block * n).reshape(n_in_block, n)
            yield np.ascontiguousarray(counts.astype(np.min_scalar_type(n)).T)


class _RecentDraws:
    """A cache of recently used draws, up to a number of bytes."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[int, int, tuple[int, ...]], Draws] = OrderedDict()
        self._n_bytes = 0

    def get(self, n: int, n_resamples: int, seed: tuple[int, ...]) -> Draws:
        key = (n, n_resamples, seed)
        if key not in self._cached:
            self._cached[key] = Draws(*key)
            self._n_bytes += self._cached[key].n_bytes
            while self._n_bytes > _CACHED_BYTES:
                self._n_bytes -= self._cached.popitem(last=False)[1].n_bytes
        self._cached.move_to_end(key)
        return self._cached[key]


_recent = _RecentDraws()


def get_draws(n: int, n_resamples: int, seed: tuple[int, ...]) -> Draws:
    """Return the resamples of n rows. Each process caches the most recently used resamples, up to 64 MB."""
    return _recent.get(n, n_resamples, seed)
