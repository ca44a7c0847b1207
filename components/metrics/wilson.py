"""Intervals of shares: means of zeros and ones, of clustered samples too."""

import numpy as np

from components.metrics.bounds import score_bounds
from components.metrics.cluster_sums import Results, Values
from components.metrics.spread import Spread


def wilson(results: Results, found: Spread, ones: Values, sizes: Values, quantile: Values) -> tuple[Values, Values]:
    """Wilson's score interval for as many independent samples as the clustered ones are worth: low and high,
    float64[n_results], NaN where the variance is unknown.

    `sizes` float64[n_rows] are the numbers of samples that count in each row of the table, `ones` those that are 1.
    `quantile` float64[n_results] is Student's, since the variance is estimated. The design effect is the jackknife's
    variance over that of independent samples, at least 1. It says nothing where all samples are alike, and little where
    few clusters hold one that differs: it is averaged with that of clusters in which all samples agree, so that a
    cluster is worth one sample; that counts as much as one cluster that differs.
    Source: Wilson 1927; Franco, Little, Louis & Slud 2019, "Comparative study of confidence intervals for proportions
    in complex sample surveys"; Korn & Graubard 1998 for the degrees of freedom. The average is our own.
    """
    share = found.value
    n_differing = np.minimum(results.n_clusters(ones > 0), results.n_clusters(ones < sizes))
    with np.errstate(invalid="ignore", divide="ignore"):
        of_one = share * (1 - share)
        variance = np.fmax(found.variance, _variance_of_independent(results, ones, sizes))
        per_sample = np.where(of_one > 0, variance / of_one, 0.0)
        n = (n_differing + 1) / (n_differing * per_sample + 1 / found.n_effective)
        low, high = score_bounds(share, quantile**2 / n)
    unknown = np.where(np.isfinite(found.variance), 0.0, np.nan)
    return low + unknown, high + unknown


def _variance_of_independent(results: Results, ones: Values, sizes: Values) -> Values:
    """Of the share (or the mean of the subsets' shares) if no sample depended on another."""
    n, n_ones = results.table.totals(sizes), results.table.totals(ones)
    counts = n > 0
    variances = np.where(counts, n_ones * (n - n_ones) / n**3, 0.0)
    return results.over_subsets(variances) / results.over_subsets(counts) ** 2
