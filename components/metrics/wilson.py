"""Wilson intervals of shares (means of zeros and ones), also for clustered samples."""

import numpy as np

from components.metrics.bounds import score_bounds
from components.metrics.cluster_sums import Results, Values
from components.metrics.spread import Spread


def wilson(results: Results, found: Spread, ones: Values, sizes: Values, quantile: Values) -> tuple[Values, Values]:
    """Return low and high of Wilson's score interval with the effective number of samples, float64[n_results].

    They are NaN if the variance is unknown. `sizes` float64[n_rows] are the numbers of samples that count in each row
    of the table, and `ones` the numbers of samples with value 1. `quantile` float64[n_results] is Student's, because
    the variance is estimated.

    The design effect is the jackknife variance over the variance of independent samples, at least 1. It is undefined if
    all samples are equal, and imprecise if few clusters contain a differing sample. It is therefore averaged with the
    design effect of clusters in which all samples agree, so that a cluster has the precision of one sample. The latter
    has the weight of one differing cluster.
    Source: Wilson 1927; Franco, Little, Louis & Slud 2019, "Comparative study of confidence intervals for proportions
    in complex sample surveys"; Korn & Graubard 1998 for the degrees of freedom. The average is our choice.
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
    """Return the variance of the share (or of the mean of the subsets' shares) for independent samples."""
    n, n_ones = results.table.totals(sizes), results.table.totals(ones)
    counts = n > 0
    variances = np.where(counts, n_ones * (n - n_ones) / n**3, 0.0)
    return results.over_subsets(variances) / results.over_subsets(counts) ** 2
