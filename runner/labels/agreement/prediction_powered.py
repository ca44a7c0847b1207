"""Estimates the mean human grade of all answers from a judge's grades of all answers and human grades of some.

Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient prediction-powered inference"; for judges of RAG systems
Saad-Falcon et al. 2024, "ARES".
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.grouped_mean import n_effective, shifts, sum_variance

CONFIDENCE = 0.95
MIN_LABELLED_CLUSTERS = 5
"""Lowest number of clusters with a label for which an interval is reliable enough to show."""

_PSEUDO, _PSEUDO_OF_BIAS = 2 * 0.25**2, 2 * 0.5**2
"""Squared distances of the pseudo-labels from the judge's values. Larger for the bias, which has no Wilson interval."""

Values = NDArray[np.float64]
Bounds = tuple[float, float]


@dataclass(frozen=True)
class PredictionPowered:
    """The estimate for one metric of one cell.

    `bias` is the judge's mean minus the human mean over the labelled samples. `mean` estimates the human mean over all
    samples. Intervals are None with fewer than 5 labelled clusters. `weight` in [0, 1] is the weight of the judge, 0
    for a judge that says nothing about human grades.
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
    """Estimate the mean of human labels over all samples.

    `judged` float64[n] are the judge's values in [0, 1]. `labels` float64[n] are human labels, NaN where missing.
    `clusters` int64[n] are groups of dependent samples. At least one sample needs a label. The labelled samples must be
    a random choice: labels of hard cases alone tell nothing about the others.

    The mean is weight * (judge's mean over the unlabelled samples) + mean(people - weight * judge) over the labelled
    ones, with the weight of least variance. Variances are the jackknife's over clusters. They use Student's t with as
    many degrees of freedom as there are labelled clusters minus one, counted in clusters of equal size. The interval of
    the mean is Wilson's with the effective number of zeros and ones. Two pseudo-labels, one too high and one too low,
    keep intervals from shrinking to a point if all labels agree with the judge.
    """
    has_label = ~np.isnan(labels)
    people, predicted, unlabelled = labels[has_label], judged[has_label], judged[~has_label]
    known_clusters, other_clusters = clusters[has_label], clusters[~has_label]
    # The variance of the mean of a single cluster is unknown, so its weight is 0.
    weight = _weight(people, predicted, unlabelled) if len(np.unique(other_clusters)) > 1 else 0.0
    residuals = people - weight * predicted
    mean = float(np.clip(residuals.mean() + weight * (unlabelled.mean() if len(unlabelled) else 0.0), 0.0, 1.0))
    bias = float((predicted - people).mean())
    n_labelled_clusters = len(np.unique(known_clusters))
    if n_labelled_clusters < MIN_LABELLED_CLUSTERS:
        return PredictionPowered(len(judged), len(people), float(judged.mean()), bias, None, mean, None, weight)
    n_groups = n_effective(known_clusters)
    parts = np.zeros(len(judged))
    parts[has_label] = shifts(residuals, known_clusters)
    if weight:
        parts[~has_label] = weight * shifts(unlabelled, other_clusters)
    variance = sum_variance(parts, clusters) + _PSEUDO / n_labelled_clusters**2
    labelled_variance = sum_variance(shifts(predicted - people, known_clusters), known_clusters)
    variance_of_bias = labelled_variance + _PSEUDO_OF_BIAS / n_labelled_clusters**2
    half_of_bias = _quantile(n_groups) * np.sqrt(variance_of_bias)
    return PredictionPowered(
        len(judged),
        len(people),
        float(judged.mean()),
        bias,
        (max(-1.0, bias - half_of_bias), min(1.0, bias + half_of_bias)),
        mean,
        _wilson(mean, variance, n_groups),
        weight,
    )


def _weight(people: Values, predicted: Values, unlabelled: Values) -> float:
    """Return the variance-minimizing weight, cov(people, judge) / ((1 + n_labelled / n_unlabelled) var(judge)), clipped
    to [0, 1].
    """
    if not len(unlabelled) or len(people) < 2:
        return 0.0
    variance = np.concatenate([predicted, unlabelled]).var(ddof=1)
    if variance == 0:
        return 0.0
    covariance = np.cov(people, predicted)[0, 1]
    return float(np.clip(covariance / variance / (1 + len(people) / len(unlabelled)), 0.0, 1.0))


def _wilson(mean: float, variance: float, n_groups: float) -> Bounds:
    """Return Wilson's interval with the effective number of zeros and ones."""
    n = mean * (1 - mean) / variance if 0 < mean < 1 and variance else n_groups
    squared = _quantile(n_groups) ** 2
    centre = (mean + squared / (2 * n)) / (1 + squared / n)
    half = np.sqrt(squared * (mean * (1 - mean) / n + squared / (4 * n * n))) / (1 + squared / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _quantile(n_groups: float) -> float:
    """Return the quantile of Student's t, with at least one degree of freedom: most samples may be in one cluster."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1.0, n_groups - 1), (1 + CONFIDENCE) / 2))
