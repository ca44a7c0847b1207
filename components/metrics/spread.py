"""How sure a metric of clustered samples is: its standard error by the jackknife, and what that is worth."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from components.metrics.cluster_sums import Results, Values

_ROUNDING = 1e-12
"""Of a value: clusters that move it by less agree with the others."""

Combine = Callable[[Values], Values]
"""A metric, float64[...], from sums of its statistics, float64[..., d]."""


class Spread(NamedTuple):
    """Of a metric in several results, each over one subset of the samples or the mean over several: all float64
    [n_results], NaN where unknown.

    `value`; its `variance`; the `degrees` of freedom of that; `n_clusters` in which anything counts; `n_effective`, the
    number of clusters of equal size that would be worth as much; `n_differing`, the number of clusters that would make
    the variance if each added the same to it: 0 where all agree, 1 where all but one do.
    """

    value: Values
    variance: Values
    degrees: Values
    n_clusters: Values
    n_effective: Values
    n_differing: Values


def spread(results: Results, sums: Values, sizes: Values, combine: Combine) -> Spread:
    """`sums` float64[n_rows, d] are the metric's columns of the table, `sizes` float64[n_rows] how many samples count
    in each row. In a mean over subsets, those in which nothing counts are left out.

    The variance is that of the delete-a-cluster jackknife, which needs no formula of the metric and is not too small
    for clusters of different sizes. A cluster that is in several subsets is left out of all of them at once, in each
    with the factor of its number of clusters. The degrees of freedom are Satterthwaite's over the subsets, from Kish's
    effective numbers of clusters. A subset with a single cluster leaves its result without variance.
    Source: Tukey 1958; MacKinnon, Nielsen & Webb 2023, "Fast and reliable jackknife and bootstrap methods for cluster-
    robust inference" (CV3); Kish 1965, "Survey Sampling", 5.4; Satterthwaite 1946.
    """
    table, own, holds = results.table, results.table.subset, sizes > 0
    n_samples, n_holding = table.totals(sizes), table.totals(holds.astype(np.float64))
    counts = n_samples > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        n_subsets = results.over_subsets(counts)
        weight = 1 / n_subsets[results.subset]
        total = table.totals(sums)
        values = combine(total)
        value = results.over_subsets(np.where(counts, values * weight, 0.0)) / (n_subsets > 0)
        moves = (combine(total[own] - sums) - values[own]) * (np.sqrt((n_holding - 1) / n_holding) * weight)[own]
        moves = np.where(holds, moves, 0.0)
        shares = results.by_unit(np.where(holds, sizes * (weight / n_samples)[own], 0.0))
        of_units = results.by_unit(moves) ** 2
        variance = results.over_units(of_units)
        differing = np.where(of_units > (_ROUNDING * results.of_units(value)) ** 2, of_units, 0.0)
        n_differing = np.nan_to_num(results.over_units(differing) ** 2 / results.over_units(differing**2))
        n_effective = 1 / results.over_units(shares**2)
        of_subset = table.totals(moves**2)
        degrees_of_subset = n_samples**2 / table.totals(sizes**2) - 1
        parts = results.over_subsets(np.where(of_subset > 0, of_subset**2 / degrees_of_subset, 0.0))
        degrees = results.over_subsets(of_subset) ** 2 / parts
    # Without any variance Satterthwaite's are undefined, and the effective number of clusters counts alone.
    degrees = np.fmax(np.fmin(degrees, n_effective - 1), 1.0)
    return Spread(value, variance, degrees, results.over_units(shares > 0), n_effective, n_differing)
