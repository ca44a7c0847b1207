"""How often the tests are wrong, and how often they find what is there, over a thousand simulated sweeps at once."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics import (
    Method,
    PairedTest,
    best_cells,
    critical_value,
    holm,
    minimum_detectable_difference,
)
from tests.analysis.statistics.cells import scores_of

ALPHA = 0.05
N_SWEEPS = 1000
FEWEST, MOST = stats.binom.interval(0.998, N_SWEEPS, ALPHA)
TEST = PairedTest(n_resamples=1999)


def p_values(
    cells: NDArray[np.float64], baselines: NDArray[np.float64], clusters: NDArray[np.int64], test: PairedTest = TEST
) -> NDArray[np.float64]:
    """Float64[n_sweeps, n_cells] of values [n_samples, n_sweeps, n_cells] and [n_samples, n_sweeps]."""
    differences = (cells - baselines[:, :, np.newaxis]).reshape(len(cells), -1)
    found = test.compare(scores_of([np.zeros(len(cells)), *differences.T], clusters))
    return np.array([comparison.p for comparison in found]).reshape(cells.shape[1:])


def sweeps(seed: int, means: list[float], n: int = 100) -> NDArray[np.float64]:
    """Cells that agree on which samples are hard, and differ by skewed noise."""
    random = np.random.default_rng(seed)
    hard = random.normal(size=(n, N_SWEEPS, 1))
    return hard + random.exponential(size=(n, N_SWEEPS, len(means))) + np.array(means)


def n_found(p: NDArray[np.float64]) -> int:
    return int((p <= ALPHA).sum())


@pytest.mark.parametrize("method", Method)
def test_equal_cells_are_called_different_as_often_as_alpha_says(method: Method) -> None:
    values = sweeps(1, [0.0, 0.0])
    p = p_values(values[:, :, 1:], values[:, :, 0], np.arange(100), PairedTest(method, n_resamples=1999))
    assert FEWEST <= n_found(p) <= MOST


def test_p_values_of_equal_cells_are_uniform() -> None:
    values = sweeps(2, [0.0, 0.0])
    p = p_values(values[:, :, 1:], values[:, :, 0], np.arange(100))
    assert stats.kstest(p.ravel(), "uniform").pvalue > 0.001


def test_holm_keeps_the_rate_of_a_whole_family() -> None:
    """Seven comparisons with a baseline, two of them with cells that do differ: any false one counts."""
    means = [0.0] * 6 + [1.0, 2.0]
    values = sweeps(3, means)
    p = p_values(values[:, :, 1:], values[:, :, 0], np.arange(100))
    null = np.array(means[1:]) == 0.0
    n_wrong_raw = int((p[:, null] <= ALPHA).any(axis=1).sum())
    n_wrong = sum((holm(row)[null] <= ALPHA).any() for row in p)
    assert n_wrong <= MOST < n_wrong_raw


class TestTheBestOfManyCells:
    """No truly best cell may be called worse, although the samples that pick the best also test it."""

    n_sweeps = 400
    fewest, most = stats.binom.interval(0.998, n_sweeps, ALPHA)

    def fallen(self, means: list[float]) -> NDArray[np.bool_]:
        """Whether each cell is called worse than the best, bool[n_sweeps, n_cells]."""
        values = sweeps(4, means)
        found = [
            best_cells(
                scores_of(list(values[:, i].T), np.arange(100)),
                larger_is_better=True,
                alpha=ALPHA,
                n_resamples=499,
                seed=0,
            )
            for i in range(self.n_sweeps)
        ]
        return np.array([one.p <= ALPHA for one in found])

    @pytest.mark.parametrize("n_cells", [2, 8, 24])
    def test_of_equal_ones_as_many_sweeps_lose_one_as_alpha_says(self, n_cells: int) -> None:
        n_wrong = int(self.fallen([0.0] * n_cells).any(axis=1).sum())
        assert self.fewest <= n_wrong <= self.most

    def test_holm_against_the_picked_one_would_lose_more(self) -> None:
        values = sweeps(4, [0.0] * 24)[:, : self.n_sweeps]
        picked = values.mean(axis=0).argmax(axis=1)
        rows = np.arange(self.n_sweeps)
        p = p_values(values, values[:, rows, picked], np.arange(100), PairedTest(n_resamples=499))
        p[rows, picked] = np.nan
        assert sum((holm(row) <= ALPHA).any() for row in p) > 1.5 * self.most

    @pytest.mark.parametrize("means", [[0.0, 0.0, -0.1, -0.1, -0.2, -1.0, -1.0], [0.0, -0.05, -0.05, -0.05]])
    def test_worse_cells_beside_them_change_nothing(self, means: list[float]) -> None:
        best = np.array(means) == 0.0
        assert int(self.fallen(means)[:, best].any(axis=1).sum()) <= self.most

    def test_worse_ones_fall(self) -> None:
        fallen = self.fallen([0.0, 0.0, -0.3, -1.0])
        assert fallen[:, 3].all()
        assert fallen[:, 2].mean() > 0.3


def test_power_rises_with_the_number_of_samples() -> None:
    found = []
    for n in (25, 50, 100, 200):
        values = sweeps(5, [0.0, 0.3], n)
        found.append(n_found(p_values(values[:, :, 1:], values[:, :, 0], np.arange(n))) / N_SWEEPS)
    assert found[0] < 0.3
    assert found[-1] > 0.8
    assert (np.diff(found) > 0.1).all()


@pytest.mark.parametrize(("n_clusters", "power"), [(30, 0.8), (100, 0.8), (100, 0.5)])
def test_the_detectable_difference_is_found_with_the_power_that_it_is_for(n_clusters: int, power: float) -> None:
    """Clusters of three samples that share half of their variance; the standard error is the true one."""
    random = np.random.default_rng(6)
    clusters = np.repeat(np.arange(n_clusters), 3)
    noise = random.normal(size=(n_clusters, N_SWEEPS))[clusters] + random.normal(size=(3 * n_clusters, N_SWEEPS))
    true_error = np.sqrt((1 + 1 / 3) / n_clusters)
    critical = critical_value(n_clusters, ALPHA)
    difference = minimum_detectable_difference(true_error, n_clusters, critical=critical, power=power)
    p = p_values((noise + difference)[:, :, np.newaxis], np.zeros_like(noise), clusters)
    assert n_found(p) / N_SWEEPS == pytest.approx(power, abs=0.05)


class TestClusters:
    """Questions of one document go wrong together: forty documents with five questions each, and no true difference."""

    clusters = np.repeat(np.arange(40), 5)

    def differences(self) -> NDArray[np.float64]:
        random = np.random.default_rng(7)
        return random.normal(size=(40, N_SWEEPS))[self.clusters] + random.normal(size=(200, N_SWEEPS))

    @pytest.mark.parametrize("method", Method)
    def test_that_are_ignored_make_differences_of_nothing(self, method: Method) -> None:
        noise = self.differences()
        test = PairedTest(method, n_resamples=1999)
        p = p_values(noise[:, :, np.newaxis], np.zeros_like(noise), np.arange(200), test)
        assert n_found(p) > 3 * MOST

    def test_that_are_flipped_as_a_whole_keep_the_rate(self) -> None:
        noise = self.differences()
        assert FEWEST <= n_found(p_values(noise[:, :, np.newaxis], np.zeros_like(noise), self.clusters)) <= MOST

    def test_that_are_drawn_as_a_whole_nearly_keep_the_rate(self) -> None:
        """The percentile interval is a little narrow for few clusters."""
        noise = self.differences()
        p = p_values(
            noise[:, :, np.newaxis], np.zeros_like(noise), self.clusters, PairedTest(Method.BOOTSTRAP, n_resamples=1999)
        )
        assert n_found(p) <= 1.6 * ALPHA * N_SWEEPS
