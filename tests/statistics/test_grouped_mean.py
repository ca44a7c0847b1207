"""Compared with leaving out each cluster in turn."""

import numpy as np
import pytest

from components.statistics.grouped_mean import n_effective, shifts, sum_variance

SIZES = (7, 2, 2, 1)
CLUSTERS = np.repeat(np.arange(len(SIZES)), SIZES)


def test_grouped_variance_equals_the_jackknife() -> None:
    values = np.random.default_rng(0).normal(size=len(CLUSTERS))
    without = np.array([values[cluster != CLUSTERS].mean() for cluster in range(len(SIZES))])
    expected = (len(SIZES) - 1) / len(SIZES) * ((without - values.mean()) ** 2).sum()
    assert sum_variance(shifts(values, CLUSTERS), CLUSTERS) == pytest.approx(expected)


def test_grouped_variance_of_independent_samples_equals_the_plain_variance() -> None:
    values = np.random.default_rng(1).normal(size=20)
    alone = np.arange(20)
    assert sum_variance(shifts(values, alone), alone) == pytest.approx(values.var(ddof=1) / 20)


def test_effective_number_counts_large_clusters_less() -> None:
    assert n_effective(np.repeat(np.arange(20), 3)) == 20
    assert n_effective(CLUSTERS) == pytest.approx(12**2 / (49 + 4 + 4 + 1))
