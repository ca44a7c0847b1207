"""Uncertainty of a mean over groups of dependent samples."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Clusters = NDArray[np.int64]
"""Group id of each sample. Samples of one group depend on each other."""


def shifts(values: Values, clusters: Clusters) -> Values:
    """Return each sample's part of the shift of the mean when its cluster is left out. Requires two clusters or more.

    The parts are scaled so that `sum_variance` returns the jackknife variance of the mean. A large cluster pulls the
    mean towards itself, so its distance to the mean is too small. Its distance to the mean of the others is not.
    Source: MacKinnon, Nielsen & Webb 2023, "Cluster-robust inference: A guide to empirical practice" (CV3).
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    shares = np.bincount(cluster) / len(values)
    scale = np.sqrt(1 - 1 / len(shares)) / (1 - shares)
    shift: Values = (values - values.mean()) / len(values) * scale[cluster]
    return shift


def sum_variance(parts: Values, clusters: Clusters) -> float:
    """Return the variance of the sum of `parts` with expectation zero, adding the parts of each cluster first."""
    _, cluster = np.unique(clusters, return_inverse=True)
    return float((np.bincount(cluster, parts) ** 2).sum())


def n_effective(clusters: Clusters) -> float:
    """Return the number of equally large clusters with the same precision (Kish's effective number)."""
    _, sizes = np.unique(clusters, return_counts=True)
    return float(len(clusters) ** 2 / (sizes**2).sum())
