"""What people would have said of all answers, from what a judge says of all of them and people of some of them.

Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient prediction-powered inference"; for judges of RAG systems
Saad-Falcon et al. 2024, "ARES".
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.grouped_mean import n_effective, shifts, variance_of_sum

CONFIDENCE = 0.95
FEWEST_LABELLED = 5
"""Clusters with a label: below, an interval would be too uncertain itself to be shown."""

_MADE_UP, _MADE_UP_OF_BIAS = 2 * 0.25**2, 2 * 0.5**2
"""Squared distances of the made-up labels from the judge's values: the bias has no Wilson's interval to help it."""

Values = NDArray[np.float64]
Bounds = tuple[float, float]


@dataclass(frozen=True)
class PredictionPowered:
    """`bias` is the judge's mean less people's over the labelled samples; `mean` what people would say on average of
    all samples. Intervals are None with fewer than 5 labelled clusters. `weight` in [0, 1] is how much the judge
    counts: 0 for one that says nothing about people's grades.
    """

    n: int
    n_labelled: int
    judged_mean: float
    bias: float
    bias_interval: Bounds | None
    mean: float
    interval: Bounds | None
    weight: float


def prediction_powered(judged: Values, labels: Values, clusters: NDArray[np.int64]) -> PredictionPowered:
    """`judged` float64[n] are the judge's values in [0, 1] of all samples; `labels` float64[n] those of people, NaN
    where there is none; `clusters` int64[n] say which samples depend on each other. At least one sample has a label,
    and those that have are a random choice: labels of the hard cases alone say nothing of the others.

    The mean is weight * (judge's mean over the samples without a label) + mean(people - weight * judge) over those with
    one, with the weight that makes its variance least. Variances are the jackknife's over clusters, with Student's t
    for as many degrees of freedom as there are labelled clusters less one, counted in clusters of equal size; the
    mean's interval is Wilson's for as many zeros and ones as it is worth. Two made-up labels, one too high and one too
    low, keep intervals from shrinking to a point where all labels agree with the judge.
    """
    has_label = ~np.isnan(labels)
    known, said, unlabelled = labels[has_label], judged[has_label], judged[~has_label]
    known_clusters, other_clusters = clusters[has_label], clusters[~has_label]
    # How much the mean of a single cluster varies is unknown: it can weigh nothing.
    weight = _weight(known, said, unlabelled) if len(np.unique(other_clusters)) > 1 else 0.0
    left = known - weight * said
    mean = float(np.clip(left.mean() + weight * (unlabelled.mean() if len(unlabelled) else 0.0), 0.0, 1.0))
    bias = float((said - known).mean())
    n_labelled_clusters = len(np.unique(known_clusters))
    if n_labelled_clusters < FEWEST_LABELLED:
        return PredictionPowered(len(judged), len(known), float(judged.mean()), bias, None, mean, None, weight)
    n_groups = n_effective(known_clusters)
    parts = np.zeros(len(judged))
    parts[has_label] = shifts(left, known_clusters)
    if weight:
        parts[~has_label] = weight * shifts(unlabelled, other_clusters)
    variance = variance_of_sum(parts, clusters) + _MADE_UP / n_labelled_clusters**2
    of_bias = variance_of_sum(shifts(said - known, known_clusters), known_clusters)
    variance_of_bias = of_bias + _MADE_UP_OF_BIAS / n_labelled_clusters**2
    half_of_bias = _quantile(n_groups) * np.sqrt(variance_of_bias)
    return PredictionPowered(
        len(judged),
        len(known),
        float(judged.mean()),
        bias,
        (max(-1.0, bias - half_of_bias), min(1.0, bias + half_of_bias)),
        mean,
        _wilson(mean, variance, n_groups),
        weight,
    )


def _weight(known: Values, said: Values, unlabelled: Values) -> float:
    """The weight of least variance, cov(people, judge) / ((1 + n_labelled / n_unlabelled) var(judge)), in [0, 1]."""
    if not len(unlabelled) or len(known) < 2:
        return 0.0
    variance = np.concatenate([said, unlabelled]).var(ddof=1)
    if variance == 0:
        return 0.0
    covariance = np.cov(known, said)[0, 1]
    return float(np.clip(covariance / variance / (1 + len(known) / len(unlabelled)), 0.0, 1.0))


def _wilson(mean: float, variance: float, n_groups: float) -> Bounds:
    """Wilson's interval for as many zeros and ones as the estimate is worth."""
    n = mean * (1 - mean) / variance if 0 < mean < 1 and variance else n_groups
    squared = _quantile(n_groups) ** 2
    centre = (mean + squared / (2 * n)) / (1 + squared / n)
    half = np.sqrt(squared * (mean * (1 - mean) / n + squared / (4 * n * n))) / (1 + squared / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _quantile(n_groups: float) -> float:
    """Of Student's t; one degree of freedom at least, where most of the samples are in one cluster."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1.0, n_groups - 1), (1 + CONFIDENCE) / 2))
