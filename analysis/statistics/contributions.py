"""What each group of samples contributes to a metric of each cell: tests and intervals resample these contributions.

Samples from one source document are not independent, so they form a group that is drawn as a whole. A mean is the sum
of its groups' contributions. For a metric of a corpus (BLEU) this holds to first order: a group contributes the
derivative of the metric with respect to the group's weight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A metric from sums of its statistics: float64[...] from float64[..., d]."""

_STEP = 1e-3
"""Change of a group's weight for the central difference, whose error is of the order of its square."""


@dataclass(frozen=True)
class SampleScores:
    """A metric of several cells on the same samples.

    `statistics` float64[n_samples, n_cells, d] are what the metric is made from: `combine` of their sums, or their mean
    (d = 1) if that is None. Entries without `has_value`, bool[n_samples, n_cells], do not count. `clusters`
    int64[n_samples] are ids of groups of samples that belong together. `strata` int64[n_samples] are ids of subsets
    over which the metric is averaged with equal weight; a single one for a plain mean.
    """

    statistics: NDArray[np.float64]
    has_value: NDArray[np.bool_]
    clusters: NDArray[np.int64]
    strata: NDArray[np.int64]
    combine: Combine | None = None


class Contributions(NamedTuple):
    """What every cluster contributes to the metric of every cell.

    `total` float64[n_clusters, n_cells] adds up to `values`, float64[n_cells]. `centred`, of the same shape, adds up to
    0: it is what the metric gains, to first order, if the cluster counts once more. Where nothing counts, values are
    NaN and contributions 0. `sizes` int64[n_clusters, n_cells] are the numbers of samples that count.
    """

    values: NDArray[np.float64]
    total: NDArray[np.float64]
    centred: NDArray[np.float64]
    sizes: NDArray[np.int64]


def own_contributions(scores: SampleScores) -> Contributions:
    """Each cell over the samples for which it has a value. A sample without one contributes the cell's mean."""
    everywhere = np.ones_like(scores.has_value)
    return _contributions(scores, scores.statistics, scores.has_value, shares_of=everywhere)


def paired_contributions(scores: SampleScores) -> Contributions:
    """Of every cell but the first: its metric minus that of the first, over the samples for which both have a value."""
    common = scores.has_value[:, 1:] & scores.has_value[:, :1]
    first = np.broadcast_to(scores.statistics[:, :1], scores.statistics[:, 1:].shape)
    cell = _contributions(scores, scores.statistics[:, 1:], common, shares_of=common)
    baseline = _contributions(scores, first, common, shares_of=common)
    return Contributions(
        cell.values - baseline.values, cell.total - baseline.total, cell.centred - baseline.centred, cell.sizes
    )


def _contributions(
    scores: SampleScores, statistics: NDArray[np.float64], counting: NDArray[np.bool_], shares_of: NDArray[np.bool_]
) -> Contributions:
    """A cluster's total is its centred contribution plus its share, by samples of `shares_of`, of the metric itself."""
    ids, cluster_of_row = np.unique(scores.clusters, return_inverse=True)
    shape = (len(ids), counting.shape[1])
    values, n_strata, all_sizes = np.zeros(shape[1]), np.zeros(shape[1]), np.zeros(shape, dtype=np.int64)
    total, centred = np.zeros(shape), np.zeros(shape)
    for stratum in np.unique(scores.strata):
        rows = scores.strata == stratum
        clusters = cluster_of_row[rows]
        kept = np.where(counting[rows][:, :, np.newaxis], statistics[rows], 0.0)
        sums = _by_cluster(kept, clusters, len(ids))
        sizes = _by_cluster(counting[rows].astype(np.float64), clusters, len(ids))
        shares = _by_cluster(shares_of[rows].astype(np.float64), clusters, len(ids))
        counts = sizes.sum(axis=0) > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            share = shares / shares.sum(axis=0)
            own_values, slopes = _differentiated(sums, sizes, scores.combine)
            own_centred = slopes - share * slopes.sum(axis=0)
            own_total = own_centred + share * own_values
        values += np.where(counts, own_values, 0.0)
        total += np.where(counts, own_total, 0.0)
        centred += np.where(counts, own_centred, 0.0)
        n_strata += counts
        all_sizes += sizes.astype(np.int64)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN for a cell in which nothing counts, as promised
        values = values / n_strata
    n_strata = np.maximum(n_strata, 1)
    return Contributions(values, total / n_strata, centred / n_strata, all_sizes)


def _differentiated(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], combine: Combine | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The metric, float64[n_cells], and its derivative by every cluster's weight, float64[n_clusters, n_cells]."""
    whole = sums.sum(axis=0)
    if combine is None:
        n = sizes.sum(axis=0)
        means = whole[:, 0] / n  # the derivative of a mean is known exactly
        return means, (sums[:, :, 0] - sizes * means) / n
    return combine(whole), (combine(whole + _STEP * sums) - combine(whole - _STEP * sums)) / (2 * _STEP)


def _by_cluster(rows: NDArray[np.float64], cluster_of_row: NDArray[np.intp], n_clusters: int) -> NDArray[np.float64]:
    sums = np.zeros((n_clusters, *rows.shape[1:]))
    np.add.at(sums, cluster_of_row, rows)
    return sums
