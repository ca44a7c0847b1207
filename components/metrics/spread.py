"""Standard error of a metric of clustered samples by the jackknife, and the precision of that error."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from components.metrics.cluster_sums import ResultGroups, Values

_ROUNDING = 1e-12
"""Relative to the metric's value. A cluster that moves the value by less agrees with the others."""

Combine = Callable[[Values], Values]
"""Function from sums of a metric's statistics, float64[..., d], to the metric, float64[...]."""


class Spread(NamedTuple):
    """Spread of a metric in several results, each over one subset of the samples or the mean over all subsets.

    - value: the metric;
    - variance: its variance;
    - degrees: the degrees of freedom of the variance;
    - n_clusters: the clusters in which any sample counts;
    - n_effective: the number of equally large clusters with the same precision;
    - n_differing: the number of clusters that would give the variance if each contributed equally: 0 if all clusters
      agree, 1 if all but one agree.
    """

    value: Values
    variance: Values
    degrees: Values
    n_clusters: Values
    n_effective: Values
    n_differing: Values


def compute_spread(results: ResultGroups, sums: Values, sizes: Values, combine: Combine) -> Spread:
    """Return the spread of a metric from its columns of the table.

    `sums` float64[n_rows, d] are the metric's statistics, and `sizes` float64[n_rows] the number of samples that count
    in each row. A mean over subsets leaves out subsets in which no sample counts.

    The variance comes from the delete-a-cluster jackknife, which needs no formula of the metric and is not too small
    for clusters of different sizes. A cluster in several subsets is left out of all of them together, in each subset
    with the factor of its number of clusters. The degrees of freedom are Satterthwaite's over the subsets, from Kish's
    effective numbers of clusters. A result that includes a subset with a single cluster has no variance.
    Source: Tukey 1958; MacKinnon, Nielsen & Webb 2023, "Fast and reliable jackknife and bootstrap methods for
    cluster-robust inference" (CV3); Kish 1965, "Survey Sampling", 5.4; Satterthwaite 1946.
    """
    table, subset, holds = results.table, results.table.subset, sizes > 0
    n_samples, n_holding = table.totals(sizes), table.totals(holds.astype(np.float64))
    counts = n_samples > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        n_subsets = results.sum_over_subsets(counts)
        weight = 1 / n_subsets[results.subset]
        total = table.totals(sums)
        values = combine(total)
        value = results.sum_over_subsets(np.where(counts, values * weight, 0.0)) / (n_subsets > 0)
        moves = (combine(total[subset] - sums) - values[subset]) * (np.sqrt((n_holding - 1) / n_holding) * weight)[
            subset
        ]
        moves = np.where(holds, moves, 0.0)
        shares = results.sum_by_unit(np.where(holds, sizes * (weight / n_samples)[subset], 0.0))
        unit_variances = results.sum_by_unit(moves) ** 2
        variance = results.sum_over_units(unit_variances)
        differing = np.where(unit_variances > (_ROUNDING * results.values_by_unit(value)) ** 2, unit_variances, 0.0)
        n_differing = np.nan_to_num(results.sum_over_units(differing) ** 2 / results.sum_over_units(differing**2))
        n_effective = 1 / results.sum_over_units(shares**2)
        subset_variances = table.totals(moves**2)
        degrees_of_subset = n_samples**2 / table.totals(sizes**2) - 1
        parts = results.sum_over_subsets(np.where(subset_variances > 0, subset_variances**2 / degrees_of_subset, 0.0))
        degrees = results.sum_over_subsets(subset_variances) ** 2 / parts
    # Without variance, Satterthwaite's degrees are undefined, and only the effective number of clusters counts.
    degrees = np.fmax(np.fmin(degrees, n_effective - 1), 1.0)
    return Spread(value, variance, degrees, results.sum_over_units(shares > 0), n_effective, n_differing)
