"""The difference between cells on the same samples, its interval, and how easily chance alone would make it.

Samples of one source document are not independent. Every resample therefore takes or leaves whole clusters of samples,
while the statistic stays the difference of the means over samples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A metric from sums of its statistics: float64[...] from float64[..., d]."""

_BLOCK_ELEMENTS = 2_000_000
_TOLERANCE = 1e-12
"""Of a column's sum of absolute differences: resampled sums that are equal but for rounding count as equal."""


class Method(StrEnum):
    """Where a p-value comes from."""

    PERMUTATION = "permutation"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Comparison:
    """A cell against a baseline, over the `n` samples (of `n_clusters` clusters) for which both have a value.

    `difference` is the cell's mean minus the baseline's; `low` and `high` bound it; `standard_error` is robust to
    clusters. Without samples all of them and `p` are None; with a single cluster, from which nothing can be said about
    others, only `difference` and `p` (1.0) are numbers.
    """

    n: int
    n_clusters: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    standard_error: float | None


@dataclass(frozen=True)
class PairedTest:
    """Compares cells with a baseline. Equal input gives equal p-values: `seed` decides all draws, which cells share.

    The interval is the percentile bootstrap's at `confidence`. The two-sided p-value is, by `method`,

    - permutation: how often swapping the two cells in a random half of the clusters makes a difference at least as
      large. Exact where the two cells are interchangeable under the null hypothesis.
    - bootstrap: the level at which the interval would just touch zero. Needs some tens of clusters.

    Both count the data itself as one of the resamples, so that p is never below 1 / (n_resamples + 1).
    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 and 15; Phipson & Smyth 2010,
    "Permutation P-values Should Never Be Zero".
    """

    method: Method = Method.PERMUTATION
    confidence: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0

    def compare(
        self, values: NDArray[np.float64], baseline: NDArray[np.float64], clusters: NDArray[np.int64]
    ) -> list[Comparison]:
        """One Comparison per column of `values`, float64[n_samples, n_cells], with `baseline`, float64[n_samples].

        NaN is "no value": that sample is left out of that column's comparison. `clusters`, int64[n_samples], are ids of
        samples that belong together.
        """
        sums, sizes = _by_cluster(values - baseline[:, np.newaxis], clusters)
        drawn_sums, drawn_sizes = self._bootstrap(sums, sizes)
        bounds = self._bounds(drawn_sums, drawn_sizes, sizes)
        if self.method is Method.PERMUTATION:
            p = self._permutation_p(sums)
        else:
            p = self._bootstrap_p(drawn_sums, _tolerance(sums))
        errors = _standard_errors(sums, sizes)
        return [
            _comparison(sums[:, i], sizes[:, i], bounds[:, i], float(p[i]), float(errors[i]))
            for i in range(values.shape[1])
        ]

    def compare_corpus(
        self,
        statistics: NDArray[np.float64],
        baseline: NDArray[np.float64],
        clusters: NDArray[np.int64],
        combine: Combine,
    ) -> Comparison:
        """One cell with a baseline, by a metric of a corpus: `combine` of the sums of float64[n_samples, d].

        A cluster is drawn, or swapped between the two, with all of its statistics. The standard error is the spread of
        the resampled differences.
        """
        both = [_sums_by_cluster(each, clusters) for each in (statistics, baseline)]
        n, n_clusters = len(statistics), len(both[0])
        if not n:
            return Comparison(0, 0, None, None, None, None, None)
        difference = float(combine(both[0].sum(axis=0)) - combine(both[1].sum(axis=0)))
        if n_clusters < 2:
            return Comparison(n, n_clusters, difference, None, None, 1.0, None)
        drawn = self._drawn_differences(both[0], both[1], combine)
        if self.method is Method.PERMUTATION:
            p = self._swapped_p(both[0], both[1], combine, abs(difference) - _TOLERANCE)
        else:
            p = float(self._bootstrap_p(drawn[:, np.newaxis], np.array([_TOLERANCE]))[0])
        tail = (1 - self.confidence) / 2
        low, high = np.nanquantile(drawn, [tail, 1 - tail])
        return Comparison(n, n_clusters, difference, float(low), float(high), p, float(np.nanstd(drawn, ddof=1)))

    def _drawn_differences(
        self, own: NDArray[np.float64], other: NDArray[np.float64], combine: Combine
    ) -> NDArray[np.float64]:
        """The metric's difference in every bootstrap resample of the clusters, float64[n_resamples]."""
        blocks = [combine(counts @ own) - combine(counts @ other) for counts in self._counts(len(own))]
        return np.concatenate(blocks)

    def _swapped_p(
        self, own: NDArray[np.float64], other: NDArray[np.float64], combine: Combine, observed: float
    ) -> float:
        """Share of the swaps of whole clusters, the data's own included, that make a difference as large."""
        n_as_far = 0
        for signs in self._signs(len(own)):
            moved = (signs < 0).astype(np.float64) @ (own - other)
            differences = combine(own.sum(axis=0) - moved) - combine(other.sum(axis=0) + moved)
            n_as_far += int((np.abs(differences) >= observed).sum())
        return (1 + n_as_far) / (1 + self.n_resamples)

    def smallest_p(self, n_clusters: int) -> float:
        """The smallest p-value that so many clusters can give, however large the difference."""
        if self.method is Method.BOOTSTRAP:
            return 2 / (1 + self.n_resamples)
        return max(2.0 ** (1 - n_clusters), 1 / (1 + self.n_resamples))

    def _permutation_p(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of the sign flips, the data's own included, whose sums are as far from zero as the data's."""
        observed = np.abs(sums.sum(axis=0)) - _tolerance(sums)
        n_as_far = np.zeros(sums.shape[1], dtype=np.int64)
        for signs in self._signs(len(sums)):
            n_as_far += (np.abs(signs @ sums) >= observed).sum(axis=0)
        p: NDArray[np.float64] = (1 + n_as_far) / (1 + self.n_resamples)
        return p

    def _bootstrap(
        self, sums: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums and numbers of samples of every resample, each float64[n_resamples, n_cells]."""
        n_clusters, n_cells = sums.shape
        both = np.hstack([sums, sizes])
        drawn = np.empty((self.n_resamples, 2 * n_cells))
        first = 0
        for counts in self._counts(n_clusters):
            np.matmul(counts, both, out=drawn[first : first + len(counts)])
            first += len(counts)
        return drawn[:, :n_cells], drawn[:, n_cells:]

    def _counts(self, n_clusters: int) -> Iterator[NDArray[np.float64]]:
        """How often each cluster is in each bootstrap resample, float64[n_in_block, n_clusters]."""
        random = np.random.default_rng((self.seed, n_clusters))
        for n_in_block in self._blocks(n_clusters):
            chosen = random.integers(n_clusters, size=(n_in_block, n_clusters))
            chosen += n_clusters * np.arange(n_in_block)[:, np.newaxis]
            yield np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape).astype(np.float64)

    def _signs(self, n_clusters: int) -> Iterator[NDArray[np.float64]]:
        """Whether each cluster is swapped (-1) or not (1) in each permutation, float64[n_in_block, n_clusters]."""
        random = np.random.default_rng((self.seed, n_clusters))
        for n_in_block in self._blocks(n_clusters):
            swapped = random.integers(2, size=(n_in_block, n_clusters), dtype=np.int8)
            yield swapped.astype(np.float64) * 2.0 - 1.0

    def _bounds(
        self, drawn_sums: NDArray[np.float64], drawn_sizes: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Low and high per column, float64[2, n_cells]; NaN where fewer than two clusters have samples."""
        tail = (1 - self.confidence) / 2
        bounds = np.full((2, sizes.shape[1]), np.nan)
        known = (sizes > 0).sum(axis=0) > 1
        with np.errstate(invalid="ignore"):
            differences = drawn_sums[:, known] / drawn_sizes[:, known]
        bounds[:, known] = np.nanquantile(differences, [tail, 1 - tail], axis=0)
        return bounds

    def _bootstrap_p(self, drawn_sums: NDArray[np.float64], tolerance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Twice the share of resamples on the rarer side of zero, those at zero included, and at most 1."""
        n_below = (drawn_sums <= tolerance).sum(axis=0)
        n_above = (drawn_sums >= -tolerance).sum(axis=0)
        p: NDArray[np.float64] = 2 * (1 + np.minimum(n_below, n_above)) / (1 + self.n_resamples)
        return np.minimum(p, 1.0)

    def _blocks(self, n_clusters: int) -> Iterator[int]:
        """Numbers of resamples that are drawn together, so that memory stays bounded."""
        block = max(1, _BLOCK_ELEMENTS // max(1, n_clusters))
        for first in range(0, self.n_resamples if n_clusters else 0, block):
            yield min(block, self.n_resamples - first)


def _by_cluster(
    differences: NDArray[np.float64], clusters: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per cluster (in the order of their ids) and column the sum of the differences and the number of samples."""
    ids, cluster_of_row = np.unique(clusters, return_inverse=True)
    has_value = ~np.isnan(differences)
    sums = np.zeros((len(ids), differences.shape[1]))
    sizes = np.zeros_like(sums)
    np.add.at(sums, cluster_of_row, np.where(has_value, differences, 0.0))
    np.add.at(sizes, cluster_of_row, has_value)
    return sums, sizes


def _sums_by_cluster(statistics: NDArray[np.float64], clusters: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums of the rows of every cluster, float64[n_clusters, d]."""
    ids, cluster_of_row = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(ids), statistics.shape[1]))
    np.add.at(sums, cluster_of_row, statistics)
    return sums


def _tolerance(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    tolerance: NDArray[np.float64] = _TOLERANCE * np.abs(sums).sum(axis=0)
    return tolerance


def _standard_errors(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the differences, float64[n_cells]: the linearised variance of a ratio of sums over clusters, times G / (G - 1)
    for G clusters. NaN for fewer than two clusters.
    """
    n_clusters, n = (sizes > 0).sum(axis=0), sizes.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviations = sums - sizes * (sums.sum(axis=0) / n)
        factor = np.where(n_clusters > 1, n_clusters / (n_clusters - 1), np.nan)
        errors: NDArray[np.float64] = np.sqrt(factor * (deviations**2).sum(axis=0)) / n
    return errors


def _comparison(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], bounds: NDArray[np.float64], p: float, error: float
) -> Comparison:
    n = int(sizes.sum())
    low, high = (_known(float(bound)) for bound in bounds)
    return Comparison(
        n=n,
        n_clusters=int((sizes > 0).sum()),
        difference=float(sums.sum()) / n if n else None,
        low=low,
        high=high,
        p=p if n else None,
        standard_error=_known(error),
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
