"""Bounds of intervals of shares: from a margin of error, by Wilson's method, and with variance for unseen values."""

import numpy as np

from components.metrics.cluster_sums import ResultGroups, Values
from components.metrics.spread import Spread


def compute_bounds(value: Values, half: Values, *, is_share: bool) -> tuple[Values, Values]:
    """Return low and high: `value` minus and plus `half`, or `score_bounds` for a share, which are in [0, 1].

    A share of exactly 0 or 1 gets the plain bounds, clipped. NaN is passed through.
    """
    low, high = value - half, value + half
    if not is_share:
        return low, high
    inside = (value > 0) & (value < 1)
    share = np.where(inside, value, 0.5)
    score_low, score_high = score_bounds(share, half**2 / (share * (1 - share)))
    return (
        np.where(inside, score_low, np.maximum(low, 0.0)),
        np.where(inside, score_high, np.minimum(high, 1.0)),
    )


def score_bounds(share: Values, spread: Values) -> tuple[Values, Values]:
    """Return the shares m for which (share - m)^2 = `spread` * m * (1 - m), within [0, 1].

    `spread` is z^2 / n for a mean of n zeros and ones. For other values in [0, 1], it is z^2 times the variance of the
    mean, relative to share * (1 - share). That variance is assumed to shrink towards 0 and 1 as it does for zeros and
    ones.
    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    """
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return np.fmax(centre - half, 0.0), np.fmin(centre + half, 1.0)


def wilson_bounds(
    results: ResultGroups, estimate: Spread, ones: Values, sizes: Values, quantile: Values
) -> tuple[Values, Values]:
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
    share = estimate.value
    n_differing = np.minimum(results.n_clusters(ones > 0), results.n_clusters(ones < sizes))
    with np.errstate(invalid="ignore", divide="ignore"):
        single_variance = share * (1 - share)
        variance = np.fmax(estimate.variance, _independent_variance(results, ones, sizes))
        per_sample = np.where(single_variance > 0, variance / single_variance, 0.0)
        n = (n_differing + 1) / (n_differing * per_sample + 1 / estimate.n_effective)
        low, high = score_bounds(share, quantile**2 / n)
    unknown = np.where(np.isfinite(estimate.variance), 0.0, np.nan)
    return low + unknown, high + unknown


def _independent_variance(results: ResultGroups, ones: Values, sizes: Values) -> Values:
    """Return the variance of the share (or of the mean of the subsets' shares) for independent samples."""
    n, n_ones = results.table.totals(sizes), results.table.totals(ones)
    counts = n > 0
    variances = np.where(counts, n_ones * (n - n_ones) / n**3, 0.0)
    return results.sum_over_subsets(variances) / results.sum_over_subsets(counts) ** 2


_WEIGHT = 8.0


def unseen_variance(estimate: Spread) -> Values:
    """Return the variance that a share lacks for values that the clusters may not have shown, float64[n_results].

    If nearly all clusters have the same value, the jackknife finds hardly any variance, although a few in a hundred
    further clusters may differ. A share varies by at most p (1 - p). We add the variance that some clusters with that
    maximum would have. It shrinks with the square of the number of differing clusters: ROUGE's interval over 30
    clusters becomes 1% wider.

    The weight is our choice, from simulations. With two values, one of them rare, intervals cover the truth in at least
    90% of cases. With half the weight, they cover it in 79% of cases if a 0 is rare among values of .9.
    """
    largest = estimate.value * (1 - estimate.value)
    with np.errstate(divide="ignore"):
        added: Values = _WEIGHT * largest / ((1 + estimate.n_differing**2) * estimate.n_effective**2)
    return added
