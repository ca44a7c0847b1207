"""Random draws over groups of samples. The same seed and number of groups give the same draws."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-9
"""Tolerance relative to the summed values. Resampled sums that differ only by rounding count as equal."""

_BLOCK_ELEMENTS = 2_000_000


def draw_signs(n_clusters: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the sign of each cluster, -1 if it changes and 1 if not, float64[n_in_block, n_clusters], in blocks."""
    # The seed includes the number of clusters, so that comparisons over other samples get different draws.
    random = np.random.default_rng((seed, n_clusters))
    for n_in_block in _blocks(n_clusters, n_resamples):
        swapped = random.integers(2, size=(n_in_block, n_clusters), dtype=np.int8)
        yield swapped.astype(np.float64) * 2.0 - 1.0


def draw_counts(n_clusters: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each cluster is drawn, with replacement, float64[n_in_block, n_clusters], in blocks."""
    random = np.random.default_rng((seed, n_clusters))
    for n_in_block in _blocks(n_clusters, n_resamples):
        chosen = random.integers(max(1, n_clusters), size=(n_in_block, n_clusters))
        chosen += n_clusters * np.arange(n_in_block)[:, np.newaxis]  # one bincount for all resamples of the block
        yield np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape).astype(np.float64)


def resampled_sums(blocks: Iterable[NDArray[np.float64]], contributions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums of float64[n_clusters, n_cells] weighted by every resample, float64[n_resamples, n_cells]."""
    return np.concatenate([block @ contributions for block in blocks])


def _blocks(n_clusters: int, n_resamples: int) -> Iterator[int]:
    """Yield the number of resamples to draw together, so that memory stays bounded."""
    block = max(1, _BLOCK_ELEMENTS // max(1, n_clusters))
    for first in range(0, n_resamples, block):
        yield min(block, n_resamples - first)
