"""How uncertain a mean is where groups of samples depend on each other."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Clusters = NDArray[np.int64]
"""Which samples depend on each other, an id for each."""


def shifts(values: Values, clusters: Clusters) -> Values:
    """Of every sample its part of the shift of the mean where its cluster is left out, in two clusters or more.

    Scaled so that `variance_of_sum` of them is the jackknife's variance of the mean. A large cluster pulls the mean
    towards itself, so its distance to the mean is too small; that to the mean of the others is not.
    Source: MacKinnon, Nielsen & Webb 2023, "Cluster-robust inference: A guide to empirical practice" (CV3).
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    shares = np.bincount(cluster) / len(values)
    scale = np.sqrt(1 - 1 / len(shares)) / (1 - shares)
    found: Values = (values - values.mean()) / len(values) * scale[cluster]
    return found


def variance_of_sum(parts: Values, clusters: Clusters) -> float:
    """Of the sum of the parts, whose expectation is zero, with those of a cluster summed first."""
    _, cluster = np.unique(clusters, return_inverse=True)
    return float((np.bincount(cluster, parts) ** 2).sum())


def n_effective(clusters: Clusters) -> float:
    """The number of clusters of equal size that are as good (Kish's)."""
    _, sizes = np.unique(clusters, return_counts=True)
    return float(len(clusters) ** 2 / (sizes**2).sum())
