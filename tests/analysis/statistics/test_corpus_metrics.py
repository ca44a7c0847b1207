"""Comparing cells by a metric of a corpus: where the metric is a mean, it is the comparison of means."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.statistics import Method, PairedTest


def combine_mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    means: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return means


def as_statistics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([values, np.ones(len(values))])


@pytest.fixture
def cells() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    random = np.random.default_rng(4)
    baseline = random.random(90)
    return baseline + random.normal(0.05, 0.2, 90), baseline, np.repeat(np.arange(30), 3)


@pytest.mark.parametrize("method", list(Method))
def test_a_mean_is_compared_as_means_are(
    cells: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], method: Method
) -> None:
    values, baseline, clusters = cells
    test = PairedTest(method, n_resamples=2000)
    (expected,) = test.compare(values[:, np.newaxis], baseline, clusters)
    found = test.compare_corpus(as_statistics(values), as_statistics(baseline), clusters, combine_mean)
    assert (found.n, found.n_clusters) == (90, 30)
    assert found.difference == pytest.approx(expected.difference)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.p == pytest.approx(expected.p, abs=2 / 2000)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.1)


def test_false_positives_of_a_ratio_are_as_rare_as_they_should_be() -> None:
    """Two equal systems, by a ratio of sums (as BLEU's precisions are): 5 % of 400 sweeps, within its interval."""
    random = np.random.default_rng(0)
    test = PairedTest(n_resamples=400)
    clusters = np.arange(40)
    n_false = 0
    for _ in range(400):
        both = [np.column_stack([random.poisson(3, 40), random.poisson(6, 40) + 1.0]) for _ in range(2)]
        p = test.compare_corpus(both[0], both[1], clusters, combine_mean).p
        assert p is not None
        n_false += p <= 0.05
    assert 9 <= n_false <= 33


def test_nothing_and_a_single_cluster_say_nothing() -> None:
    nothing = PairedTest().compare_corpus(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, dtype=np.int64), combine_mean)
    assert (nothing.n, nothing.difference, nothing.p) == (0, None, None)
    one = PairedTest().compare_corpus(
        as_statistics(np.array([1.0, 2.0])),
        as_statistics(np.array([0.0, 0.0])),
        np.zeros(2, dtype=np.int64),
        combine_mean,
    )
    assert (one.difference, one.low, one.p) == (1.5, None, 1.0)
