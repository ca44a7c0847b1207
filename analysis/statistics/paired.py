"""The difference between cells on the same samples, its interval, and how often chance alone would produce it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analysis.statistics.contributions import Contributions, SampleScores, paired_contributions
from analysis.statistics.resampling import TOLERANCE, counts, resampled_sums, swaps


class Method(StrEnum):
    """Where a p-value comes from."""

    PERMUTATION = "permutation"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Comparison:
    """A cell against a baseline, over the `n` samples (in `n_clusters` clusters) for which both have a value.

    `difference` is the cell's metric minus the baseline's, [`low`, `high`] its interval; `standard_error` is robust to
    clusters. Without samples all of these and `p` are None. With a single cluster, which says nothing about others,
    only `difference` and `p` (1.0) are numbers.
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
    """Compares cells on the same samples. Equal input gives equal p-values: all draws follow from `seed`.

    The interval is the percentile bootstrap's at `confidence`. The two-sided p-value is, by `method`,

    - permutation: how often swapping the two cells in a random half of the clusters gives a difference at least as
      large. Exact if the two cells are interchangeable under the null hypothesis.
    - bootstrap: the level at which the interval would just touch zero. Needs a few dozen clusters.

    Both count the data themselves as one of the resamples, so that p is never below 1 / (n_resamples + 1). Resamples
    are sums of the clusters' contributions; for means over clusters of different sizes, and for metrics of a corpus,
    that is a linear approximation.
    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 and 15; Davison & Hinkley 1997,
    "Bootstrap Methods and their Application", section 2.7 (linear approximation); Phipson & Smyth 2010, "Permutation
    P-values Should Never Be Zero".
    """

    method: Method = Method.PERMUTATION
    confidence: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0

    def compare(self, scores: SampleScores) -> list[Comparison]:
        """One Comparison of every cell but the first with the first."""
        found = paired_contributions(scores)
        gains = resampled_sums(self._counts(len(found.total)), found.centred)
        if self.method is Method.PERMUTATION:
            p = self._permutation_p(found.total)
        else:
            p = self._bootstrap_p(found.values + gains, _tolerance(found.total))
        bounds = found.values + self._bounds(gains)
        errors = standard_errors(found.centred, found.sizes)
        return [_comparison(found, i, bounds[:, i], float(p[i]), float(errors[i])) for i in range(found.total.shape[1])]

    def smallest_p(self, n_clusters: int) -> float:
        """The smallest p-value that is possible with so many clusters, however large the difference."""
        if self.method is Method.BOOTSTRAP:
            return 2 / (1 + self.n_resamples)
        # Of the 2^n ways to swap n clusters, two are as extreme as the data: none swapped, and all of them.
        return max(2.0 ** (1 - n_clusters), 1 / (1 + self.n_resamples))

    def _counts(self, n_clusters: int) -> Iterator[NDArray[np.float64]]:
        return counts(n_clusters, self.n_resamples, self.seed)

    def _swaps(self, n_clusters: int) -> Iterator[NDArray[np.float64]]:
        return swaps(n_clusters, self.n_resamples, self.seed)

    def _bounds(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Low and high per cell, float64[2, n_cells]."""
        tail = (1 - self.confidence) / 2
        bounds: NDArray[np.float64] = np.quantile(gains, [tail, 1 - tail], axis=0)
        return bounds

    def _permutation_p(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of sign flips, that of the data included, whose sums are at least as far from zero as the data's."""
        observed = np.abs(total.sum(axis=0)) - _tolerance(total)
        sums = resampled_sums(self._swaps(len(total)), total)
        p: NDArray[np.float64] = (1 + (np.abs(sums) >= observed).sum(axis=0)) / (1 + self.n_resamples)
        return p

    def _bootstrap_p(self, drawn: NDArray[np.float64], tolerance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Twice the share of resamples on the rarer side of zero, including those at zero; at most 1."""
        n_below = (drawn <= tolerance).sum(axis=0)
        n_above = (drawn >= -tolerance).sum(axis=0)
        p: NDArray[np.float64] = 2 * (1 + np.minimum(n_below, n_above)) / (1 + self.n_resamples)
        return np.minimum(p, 1.0)


def standard_errors(centred: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of sums of contributions, float64[n_cells], with the factor G / (G - 1) for G clusters; NaN for fewer than 2."""
    n_clusters = (sizes > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(n_clusters > 1, n_clusters / (n_clusters - 1), np.nan)
    errors: NDArray[np.float64] = np.sqrt(factor * (centred**2).sum(axis=0))
    return errors


def _tolerance(total: NDArray[np.float64]) -> NDArray[np.float64]:
    tolerance: NDArray[np.float64] = TOLERANCE * np.abs(total).sum(axis=0)
    return tolerance


def _comparison(found: Contributions, i: int, bounds: NDArray[np.float64], p: float, error: float) -> Comparison:
    n, n_clusters = int(found.sizes[:, i].sum()), int((found.sizes[:, i] > 0).sum())
    if not n:
        return Comparison(0, 0, None, None, None, None, None)
    difference = float(found.values[i])
    if n_clusters < 2:
        return Comparison(n, n_clusters, difference, None, None, 1.0, None)
    return Comparison(n, n_clusters, difference, float(bounds[0]), float(bounds[1]), p, error)
