"""Contributions of each group of samples to a metric of each cell. Tests and intervals resample these contributions.

Samples of one cluster (such as one source document) are not independent, so a cluster is drawn as a whole. A mean is
the sum of its clusters' contributions. For a metric of a corpus (BLEU), this holds to first order: a cluster
contributes the derivative of the metric with respect to the cluster's weight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Function from sums of statistics, float64[..., d], to the metric, float64[...]."""

_ROUNDING = 1e-11
"""Rounding error, relative to the largest contribution."""

_STEP = 1e-3
"""Change of a cluster's weight for the central difference, whose error is of the order of its square."""


@dataclass(frozen=True)
class SampleScores:
    """A metric of several cells on the same samples. Every cell has a value for every sample.

    `statistics` float64[n_samples, n_cells, d] determine the metric: `combine` of their sums, or their mean (d = 1) if
    `combine` is None. `clusters` int64[n_samples] are ids of groups of dependent samples. `strata` int64[n_samples] are
    ids of subsets that have equal weight in the metric; a plain mean has one.
    """

    statistics: NDArray[np.float64]
    clusters: NDArray[np.int64]
    strata: NDArray[np.int64]
    combine: Combine | None = None

    @property
    def n_samples(self) -> int:
        """Samples that all cells share."""
        return len(self.statistics)


def equal_cells(statistics: NDArray[np.float64]) -> dict[int, list[int]]:
    """Group cells with the same value for every sample in float64[n, n_cells, d]. Return the
    indices of each group under its first index.
    """
    cells_by_scores: dict[bytes, list[int]] = {}
    for cell in range(statistics.shape[1]):
        cells_by_scores.setdefault(statistics[:, cell].tobytes(), []).append(cell)
    return {cells[0]: cells for cells in cells_by_scores.values()}


@dataclass(frozen=True)
class Contributions:
    """Contributions of every cluster to the metric of every cell.

    `total` float64[n_clusters, n_cells] adds up to `values`, float64[n_cells].

    `centred`, of the same shape, is the gain of the metric, to first order, if the cluster counts once more. It adds up
    to 0. With the factor G / (G - 1) for the G clusters of a stratum, its squares add up to the variance of the metric.
    `df` are the degrees of freedom of that variance.

    `shares` float64[n_clusters] are the weights of the clusters, which add up to 1. `n_lone_strata` counts the strata
    of a single cluster. They show no spread, so the variance leaves them out. `bound` float64[n_cells] is the largest
    possible difference between two values of a cluster: 1 if scores are all 0 or 1, else infinite.

    `reach` is the largest difference between two scores of any samples and cells, infinite for a metric of a corpus.
    `are_wins_or_losses` means that any two cells differ by 0 or by one fixed size in each cluster: scores are all 0 or
    1, and each cluster is one sample of a single stratum.
    """

    values: NDArray[np.float64]
    total: NDArray[np.float64]
    centred: NDArray[np.float64]
    shares: NDArray[np.float64]
    df: int
    n_lone_strata: int
    bound: NDArray[np.float64]
    reach: float = np.inf
    are_wins_or_losses: bool = False

    @property
    def n_clusters(self) -> int:
        """Groups of samples that are drawn as a whole."""
        return len(self.total)

    @property
    def n_effective(self) -> float:
        """Number of equally large clusters with the same precision (Kish's effective number); 0 if there are no
        clusters.
        """
        squares = float((self.shares**2).sum())
        return float(self.shares.sum()) ** 2 / squares if squares else 0.0

    @property
    def has_spread(self) -> bool:
        """True if the variance of the metric can be estimated, which a stratum of one cluster prevents."""
        return self.df > 0 and not self.n_lone_strata

    def select(self, cells: NDArray[np.intp]) -> "Contributions":
        """Return the contributions to some cells."""
        return replace(
            self,
            values=self.values[cells],
            total=self.total[:, cells],
            centred=self.centred[:, cells],
            bound=self.bound[cells],
        )

    def combine(self, weights: NDArray[np.float64]) -> "Contributions":
        """Return the contributions to weighted sums of the cells: float64[n_cells, n] gives n sums. Remainders of
        contributions that cancel are set to 0.
        """
        sizes = np.abs(weights)
        values, total, centred = self.values @ weights, self.total @ weights, self.centred @ weights
        noise = _ROUNDING * (np.abs(self.total) @ sizes).max(axis=0, initial=0.0)
        total[np.abs(total) <= noise] = 0.0
        centred[np.abs(centred) <= noise] = 0.0
        values[np.abs(values) <= _ROUNDING * (np.abs(self.values) @ sizes)] = 0.0
        bounds = np.where(sizes > 0.0, self.bound[:, np.newaxis], 0.0) * sizes
        bound = bounds.sum(axis=0) / 2
        return replace(
            self, values=values, total=total, centred=centred, bound=bound, reach=np.inf, are_wins_or_losses=False
        )

    def subtract_cell(self, cell: int, others: Sequence[int] | NDArray[np.int64]) -> "Contributions":
        """Return the contributions to the differences between `others` and one cell. Differences from rounding are set
        to 0.
        """
        rows = np.asarray(others, dtype=np.int64)
        noise = _ROUNDING * np.maximum(np.abs(self.total[:, rows]), np.abs(self.total[:, [cell]])).max(
            axis=0, initial=0.0
        )
        total = self.total[:, rows] - self.total[:, [cell]]
        total[np.abs(total) <= noise] = 0.0
        centred = self.centred[:, rows] - self.centred[:, [cell]]
        centred[np.abs(centred) <= noise] = 0.0
        values = self.values[rows] - self.values[cell]
        values[np.abs(values) <= _ROUNDING * np.maximum(np.abs(self.values[rows]), np.abs(self.values[cell]))] = 0.0
        return replace(self, values=values, total=total, centred=centred, bound=self.bound[rows])


def contributions(scores: SampleScores) -> Contributions:
    """Return the contributions of all clusters to the metric of all cells. Without samples, there are no clusters, and
    the values are NaN.
    """
    ids, cluster_of_row = np.unique(scores.clusters, return_inverse=True)
    strata = np.unique(scores.strata)
    n_cells = scores.statistics.shape[1]
    if not len(strata):
        nothing = np.zeros((0, n_cells))
        return Contributions(
            np.full(n_cells, np.nan), nothing, nothing, np.zeros(0), df=0, n_lone_strata=0, bound=_bound(scores)
        )
    values, total, centred = np.zeros(n_cells), np.zeros((len(ids), n_cells)), np.zeros((len(ids), n_cells))
    all_shares = np.zeros(len(ids))
    n_clusters = []
    for stratum in strata:
        rows = scores.strata == stratum
        sums = _sum_by_cluster(scores.statistics[rows], cluster_of_row[rows], len(ids))
        sizes = np.bincount(cluster_of_row[rows], minlength=len(ids)).astype(np.float64)
        shares = sizes / sizes.sum()
        own_values, slopes = _differentiate(sums, sizes, scores.combine)
        own_centred = slopes - shares[:, np.newaxis] * slopes.sum(axis=0)
        n = int((sizes > 0).sum())
        n_clusters.append(n)
        values += own_values / len(strata)
        total += (own_centred + shares[:, np.newaxis] * own_values) / len(strata)
        all_shares += shares / len(strata)
        if n > 1:
            centred += own_centred * np.sqrt(n / (n - 1)) / len(strata)
    # A cluster with samples in several strata counts once.
    df = min(len(ids) - 1, sum(n - 1 for n in n_clusters))
    bound = _bound(scores)
    are_wins_or_losses = len(ids) == scores.n_samples and len(strata) == 1 and bool(np.isfinite(bound).all())
    reach = float(np.ptp(scores.statistics)) if scores.combine is None else np.inf
    return Contributions(
        values, total, centred, all_shares, df, n_clusters.count(1), bound, reach, are_wins_or_losses=are_wins_or_losses
    )


def _bound(scores: SampleScores) -> NDArray[np.float64]:
    is_zero_one = scores.combine is None and bool(((scores.statistics == 0) | (scores.statistics == 1)).all())
    return np.full(scores.statistics.shape[1], 1.0 if is_zero_one else np.inf)


def _differentiate(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], combine: Combine | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the metric, float64[n_cells], and its derivative by every cluster's weight, float64[n_clusters,
    n_cells].
    """
    whole = sums.sum(axis=0)
    if combine is None:
        n = sizes.sum()
        means = whole[:, 0] / n  # the exact derivative of a mean
        return means, (sums[:, :, 0] - sizes[:, np.newaxis] * means) / n
    return combine(whole), (combine(whole + _STEP * sums) - combine(whole - _STEP * sums)) / (2 * _STEP)


def _sum_by_cluster(
    rows: NDArray[np.float64], cluster_of_row: NDArray[np.intp], n_clusters: int
) -> NDArray[np.float64]:
    sums = np.zeros((n_clusters, *rows.shape[1:]))
    np.add.at(sums, cluster_of_row, rows)
    return sums
