"""Statistics of samples summed over clusters, for many subsets of the samples in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[int] | slice
"""Positions of samples."""

_EXACT_BITS = 52


Values = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterSums:
    """One row per cluster of every subset, ordered by subset, then by cluster.

    `sums` is float64[n_rows, width], `subset` and `cluster` are int64[n_rows]. The rows of a subset begin at `first`,
    int64[n_subsets], and there are `n` of them, 0 for a subset without samples.

    Sums over rows of a subset are exact in float64, in any order, because the statistics are rounded to multiples of a
    sufficiently coarse power of two. Equal samples therefore give equal bytes, whatever other columns are computed with
    them and however many threads compute them. Counts are not rounded. The error of a sum is at most n / 2^52 of the
    column's largest value.
    """

    sums: Values
    subset: NDArray[np.int64]
    cluster: NDArray[np.int64]
    first: NDArray[np.int64]
    n: NDArray[np.int64]

    def totals(self, values: Values) -> Values:
        """Return the sums over every subset, float64[n_subsets, ...], of values of the rows, float64[n_rows, ...]."""
        sums = np.zeros((len(self.n), *values.shape[1:]))
        filled = self.n > 0
        if filled.any():
            sums[filled] = np.add.reduceat(values, self.first[filled], axis=0)
        return sums

    def rows_of(self, subset: int) -> Values:
        """Return the rows of one subset, float64[n, width]."""
        return self.sums[self.first[subset] : self.first[subset] + self.n[subset]]


def sum_by_cluster(statistics: Values, subsets: Sequence[Rows], clusters: NDArray[np.int64] | None) -> ClusterSums:
    """Sum `statistics`, float64[n_samples, width], over `clusters`, int64[n_samples]. None makes every sample a
    cluster.
    """
    samples = np.arange(len(statistics))
    members = [samples[rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)] for rows in subsets]
    row = np.concatenate([np.empty(0, dtype=np.int64), *members])
    subset = np.repeat(np.arange(len(subsets)), [len(rows) for rows in members])
    cluster = row if clusters is None else clusters[row]
    order = np.lexsort((cluster, subset))
    row, subset, cluster = row[order], subset[order], cluster[order]
    begins = np.ones(len(row), dtype=np.bool_)
    begins[1:] = (subset[1:] != subset[:-1]) | (cluster[1:] != cluster[:-1])
    starts = np.flatnonzero(begins)
    sums = np.add.reduceat(statistics[row], starts, axis=0) if len(row) else statistics[row]
    n = np.bincount(subset[starts], minlength=len(subsets))
    first = np.cumsum(n) - n
    return ClusterSums(_exactly_summable(sums, first, n), subset[starts], cluster[starts], first, n)


def round_for_exact_sums(values: Values) -> Values:
    """Return rows, float64[n, n_values], rounded so that sums of n_values values of a row are exact in any order.

    The sums may repeat values.
    """
    largest_sum = values.shape[1] * np.abs(values).max(axis=1, initial=0.0)
    step = np.ldexp(1.0, np.frexp(largest_sum)[1] - _EXACT_BITS)[:, np.newaxis]
    exact: Values = np.round(values / step) * step
    return exact


def _exactly_summable(sums: Values, first: NDArray[np.int64], n: NDArray[np.int64]) -> Values:
    filled = n > 0
    if not filled.any():
        return sums
    largest_sum = n[filled, np.newaxis] * np.maximum.reduceat(np.abs(sums), first[filled], axis=0)
    _, exponent = np.frexp(largest_sum)
    step = np.repeat(np.ldexp(1.0, exponent - _EXACT_BITS), n[filled], axis=0)
    exact: Values = np.round(sums / step) * step
    return exact


class ResultGroups:
    """Assignment of a table's subsets to results: one result per subset, or a single one, the mean over all subsets.

    There are `n` results, and `subset` int64[n_subsets] is the result of each subset. A unit is a cluster with all of
    its rows in one result, and `unit` int64[n_rows] is the unit of each row.
    """

    def __init__(self, table: ClusterSums, *, joined: bool) -> None:
        n_subsets = len(table.n)
        self.table, self.are_joined = table, joined
        self.n = 1 if joined else n_subsets
        self.subset = np.zeros(n_subsets, dtype=np.int64) if joined else np.arange(n_subsets)
        if joined:
            clusters, self.unit = np.unique(table.cluster, return_inverse=True)
            self._result_of_unit = np.zeros(len(clusters), dtype=np.int64)
        else:
            self.unit, self._result_of_unit = np.arange(len(table.subset)), table.subset

    def sum_over_subsets(self, values: Values | NDArray[np.bool_]) -> Values:
        """Return sums of values of the subsets, float64[n]."""
        return _sum_by_index(self.subset, values, self.n)

    def sum_by_unit(self, values: Values) -> Values:
        """Return sums of values of the rows, float64[n_units]."""
        return _sum_by_index(self.unit, values, len(self._result_of_unit))

    def sum_over_units(self, values: Values | NDArray[np.bool_]) -> Values:
        """Return sums of values of the units, float64[n]."""
        return _sum_by_index(self._result_of_unit, values, self.n)

    def values_by_unit(self, values: Values) -> Values:
        """Return the value of each unit's result, from values of the results, float64[n]."""
        return values[self._result_of_unit]

    def n_clusters(self, holds: NDArray[np.bool_]) -> Values:
        """Return the number of units with a row for which `holds` is true, float64[n]."""
        return self.sum_over_units(self.sum_by_unit(holds.astype(np.float64)) > 0)


def _sum_by_index(index: NDArray[np.int64], values: Values | NDArray[np.bool_], n: int) -> Values:
    return np.bincount(index, values, n).astype(np.float64, copy=False)  # bincount returns integers for empty input
