"""Error rates and power of the tests, over hundreds of sweeps simulated together."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks import error_rates
from components.statistics import (
    Comparison,
    PairedTest,
    best_cells,
    critical_value,
    holm,
    minimum_detectable_difference,
    times_as_many,
)
from tests.statistics.cells import scores_of

ALPHA = 0.05
N_SWEEPS = 400
MIN_SWEEPS, MAX_SWEEPS = stats.binom.interval(0.998, N_SWEEPS, ALPHA)
TEST = PairedTest(n_resamples=999)


def p_values(
    cells: NDArray[np.float64], baselines: NDArray[np.float64], clusters: NDArray[np.int64], test: PairedTest = TEST
) -> NDArray[np.float64]:
    """Float64[n_sweeps, n_cells] of values [n_samples, n_sweeps, n_cells] and [n_samples, n_sweeps]."""
    differences = (cells - baselines[:, :, np.newaxis]).reshape(len(cells), -1)
    found = test.compare(scores_of([np.zeros(len(cells)), *differences.T], clusters), ALPHA)
    return np.array([comparison.p for comparison in found]).reshape(cells.shape[1:])


def sweeps(seed: int, means: list[float], n: int = 100) -> NDArray[np.float64]:
    """Cells that agree on which samples are hard, and differ by skewed noise."""
    random = np.random.default_rng(seed)
    hard = random.normal(size=(n, N_SWEEPS, 1))
    return hard + random.exponential(size=(n, N_SWEEPS, len(means))) + np.array(means)


def n_found(p: NDArray[np.float64]) -> int:
    return int((p <= ALPHA).sum())


def test_equal_cells_differ_at_the_rate_of_alpha() -> None:
    values = sweeps(1, [0.0, 0.0])
    assert MIN_SWEEPS <= n_found(p_values(values[:, :, 1:], values[:, :, 0], np.arange(100))) <= MAX_SWEEPS


class TestSettingsInWhichTestsAreOftenWrong:
    """Any false call in a sweep of equally good cells. The short form of `python -m benchmarks error_rates`, which
    tries forty cells in all settings; here they are tried in the one in which sign changes alone would call many.
    """

    @pytest.mark.parametrize("setting", [s for s in error_rates.SETTINGS if s.noise is error_rates.oppositely_skewed])
    def test_tests_of_two_cells_keep_their_error_rate(self, setting: error_rates.Setting) -> None:
        random = np.random.default_rng(8)
        n_sweeps = 300
        n_false = sum(
            error_rates.has_false_call(error_rates.scores(setting, 2, random), 299)[0] for _ in range(n_sweeps)
        )
        assert n_false <= stats.binom.ppf(0.99, n_sweeps, error_rates.BOUND)

    @pytest.mark.parametrize(
        ("setting", "n_cells", "n_sweeps"),
        [*((setting, 10, 60) for setting in error_rates.SETTINGS), (error_rates.SETTINGS[2], 40, 10)],
    )
    def test_tests_of_many_cells_keep_their_error_rate(
        self, setting: error_rates.Setting, n_cells: int, n_sweeps: int
    ) -> None:
        random = np.random.default_rng((9, n_cells))
        calls = [error_rates.has_false_call(error_rates.scores(setting, n_cells, random), 299) for _ in range(n_sweeps)]
        n_false = np.sum(calls, axis=0)
        assert n_false.max() <= stats.binom.ppf(0.995, n_sweeps, error_rates.BOUND)

    @pytest.mark.parametrize(
        ("noise", "n_clusters", "most"), [("log-normal noise, sigma 1.5", 20, 0.15), ("rare, bad failures", 60, 0.3)]
    )
    def test_extreme_skew_breaks_the_error_rate_as_documented(self, noise: str, n_clusters: int, most: float) -> None:
        (setting,) = (s for s in error_rates.BEYOND if (s.name, s.n_clusters) == (noise, n_clusters))
        random = np.random.default_rng(8)
        n_sweeps = 200
        n_false = sum(
            error_rates.has_false_call(error_rates.scores(setting, 2, random), 299)[0] for _ in range(n_sweeps)
        )
        assert error_rates.BOUND * n_sweeps < n_false < most * n_sweeps

    @pytest.mark.parametrize(
        "setting", [s for s in error_rates.FEW_DIFFERING if (s.n_differing or s.n_clusters) in (7, 8, 11)], ids=str
    )
    def test_skewed_differences_in_few_groups_keep_the_stated_bound(self, setting: error_rates.Setting) -> None:
        random = np.random.default_rng(10)
        calls = [error_rates.has_false_call(error_rates.scores(setting, 2, random), 299) for _ in range(200)]
        assert np.sum(calls, axis=0).max() <= stats.binom.ppf(0.995, 200, error_rates.BOUND)

    def test_tests_of_cells_in_few_large_groups_keep_their_error_rate(self) -> None:
        """Six of twenty groups have nearly all samples. Counted as twenty, 8 of 20 sweeps had a false call."""
        clusters = np.repeat(np.arange(20), [*[40] * 3, *[20] * 3, *[1] * 14])
        random = np.random.default_rng(1)
        n_false, n_sweeps = 0, 20
        for _ in range(n_sweeps):
            shared = error_rates.oppositely_skewed(random, (20, 40))[clusters]
            values = error_rates.oppositely_skewed(random, (len(clusters), 40)) + shared
            sweep = scores_of(list(values.T), clusters)
            found = best_cells(sweep, larger_is_better=True, alpha=ALPHA, n_resamples=299, seed=0)
            n_false += bool((found.p <= ALPHA).any())
        assert n_false <= stats.binom.ppf(0.995, n_sweeps, error_rates.BOUND)

    def test_sign_change_test_alone_gives_many_false_calls(self) -> None:
        """Forty cells of twenty samples give false calls in a third of the sweeps, so the tests above can fail."""
        setting = error_rates.Setting("", error_rates.oppositely_skewed, 20)
        random = np.random.default_rng(9)
        n_false = 0
        for _ in range(30):
            values = error_rates.scores(setting, 40, random).statistics[:, :, 0]
            differences = (values[:, :, np.newaxis] - values[:, np.newaxis, :]).reshape(20, -1)
            flips = np.random.default_rng(0).choice([-1.0, 1.0], (299, 20))
            units = np.sqrt((differences**2).sum(axis=0)) + 1e-12
            by_chance = np.abs(flips @ differences / units).max(axis=1)
            n_false += np.abs(differences.sum(axis=0) / units).max() > np.quantile(by_chance, 1 - ALPHA)
        assert n_false > stats.binom.ppf(0.995, 30, error_rates.BOUND)


def test_holm_keeps_the_rate_of_a_whole_family() -> None:
    """Seven comparisons with a baseline include two cells that differ, and any false call counts."""
    means = [0.0] * 6 + [1.0, 2.0]
    values = sweeps(3, means)
    p = p_values(values[:, :, 1:], values[:, :, 0], np.arange(100))
    null = np.array(means[1:]) == 0.0
    n_wrong_raw = int((p[:, null] <= ALPHA).any(axis=1).sum())
    n_wrong = sum((holm(row)[null] <= ALPHA).any() for row in p)
    assert n_wrong <= MAX_SWEEPS < n_wrong_raw


class TestTheBestOfManyCells:
    """No truly best cell may be called worse, although the samples that pick the best also test it."""

    n_sweeps = 150
    fewest, most = stats.binom.interval(0.998, n_sweeps, ALPHA)

    def fallen(self, means: list[float]) -> NDArray[np.bool_]:
        """Return True for each cell that is called worse than the best, bool[n_sweeps, n_cells]."""
        values = sweeps(4, means)
        found = [
            best_cells(
                scores_of(list(values[:, i].T), np.arange(100)),
                larger_is_better=True,
                alpha=ALPHA,
                n_resamples=299,
                seed=0,
            )
            for i in range(self.n_sweeps)
        ]
        return np.array([one.p <= ALPHA for one in found])

    @pytest.mark.parametrize("n_cells", [2, 8, 16])
    def test_equal_best_cells_are_dropped_no_more_often_than_alpha(self, n_cells: int) -> None:
        n_wrong = int(self.fallen([0.0] * n_cells).any(axis=1).sum())
        assert self.fewest / 2 <= n_wrong <= self.most

    @pytest.mark.parametrize("means", [[0.0, 0.0, -0.1, -0.1, -0.2, -1.0, -1.0], [0.0, -0.05, -0.05, -0.05]])
    def test_worse_cells_do_not_raise_the_error_rate_of_the_best(self, means: list[float]) -> None:
        best = np.array(means) == 0.0
        assert int(self.fallen(means)[:, best].any(axis=1).sum()) <= self.most

    def test_worse_cells_are_excluded_from_the_best(self) -> None:
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
def test_detectable_difference_is_found_with_the_stated_power(n_clusters: int, power: float) -> None:
    """Clusters of three samples that share half of their variance; the standard error is the true one."""
    random = np.random.default_rng(6)
    clusters = np.repeat(np.arange(n_clusters), 3)
    noise = random.normal(size=(n_clusters, N_SWEEPS))[clusters] + random.normal(size=(3 * n_clusters, N_SWEEPS))
    true_error = np.sqrt((1 + 1 / 3) / n_clusters)
    critical = critical_value(n_clusters - 1, ALPHA)
    difference = minimum_detectable_difference(true_error, n_clusters - 1, critical=critical, power=power)
    p = p_values((noise + difference)[:, :, np.newaxis], np.zeros_like(noise), clusters)
    assert n_found(p) / N_SWEEPS == pytest.approx(power, abs=0.07)


@pytest.mark.parametrize(("n_clusters", "difference"), [(12, 0.4), (25, 0.3), (25, 0.5), (100, 0.25)])
def test_needed_samples_give_a_power_of_80_percent(n_clusters: int, difference: float) -> None:
    """Clusters of three samples that share half of their variance; the standard error is the true one."""
    error, df = np.sqrt((1 + 1 / 3) / n_clusters), n_clusters - 1
    times = times_as_many(difference, error, df, critical=critical_value(df, ALPHA))
    n_needed = round(n_clusters * times)
    random = np.random.default_rng(9)
    clusters = np.repeat(np.arange(n_needed), 3)
    noise = random.normal(size=(n_needed, N_SWEEPS))[clusters] + random.normal(size=(3 * n_needed, N_SWEEPS))
    p = p_values((noise + difference)[:, :, np.newaxis], np.zeros_like(noise), clusters)
    assert n_found(p) / N_SWEEPS == pytest.approx(0.8, abs=0.07)


def test_needed_samples_of_binary_scores_are_estimated_from_a_pilot() -> None:
    """One cell alone is right on 20 % of the samples, and the other alone on 10 %."""
    random = np.random.default_rng(5)

    def compared(n: int) -> Comparison:
        kind = random.choice(["only the first", "only the second", "both"], p=[0.1, 0.2, 0.7], size=n)
        cells = [np.where(kind == "both", 1.0, kind == f"only the {place}") for place in ("first", "second")]
        return TEST.compare(scores_of(cells, np.arange(n)), ALPHA)[0]

    first = [compared(60) for _ in range(40)]
    times = [times_as_many(0.1, each.standard_error or 0, each.df, critical=each.critical or 0) for each in first]
    n_needed = round(60 * float(np.median(times)))
    n_found = sum((compared(n_needed).p or 0) <= ALPHA for _ in range(150))
    assert 0.7 < n_found / 150 < 0.95


def test_half_the_detectable_difference_needs_four_times_the_samples() -> None:
    critical = critical_value(1_000, ALPHA)
    size = minimum_detectable_difference(0.1, 1_000, critical=critical)
    assert times_as_many(size, 0.1, 1_000, critical=critical) == pytest.approx(1.0)
    assert times_as_many(size / 2, 0.1, 1_000, critical=critical) == pytest.approx(4.0, rel=0.01)
    assert times_as_many(-size / 2, 0.1, 1_000, critical=critical) == pytest.approx(4.0, rel=0.01)
    assert times_as_many(0.0, 0.1, 1_000, critical=critical) == np.inf


class TestClusters:
    """Questions of one document go wrong together: forty documents with five questions each, and no true difference."""

    clusters = np.repeat(np.arange(40), 5)

    def differences(self) -> NDArray[np.float64]:
        random = np.random.default_rng(7)
        return random.normal(size=(40, N_SWEEPS))[self.clusters] + random.normal(size=(200, N_SWEEPS))

    def test_test_ignoring_clusters_finds_differences_in_noise(self) -> None:
        noise = self.differences()
        p = p_values(noise[:, :, np.newaxis], np.zeros_like(noise), np.arange(200))
        assert n_found(p) > 2 * MAX_SWEEPS

    def test_clustered_test_keeps_its_error_rate(self) -> None:
        noise = self.differences()
        assert (
            MIN_SWEEPS <= n_found(p_values(noise[:, :, np.newaxis], np.zeros_like(noise), self.clusters)) <= MAX_SWEEPS
        )


class TestGroupsOfUnequalSize:
    """No true difference; questions of one document go wrong together, and a few documents have most of them."""

    n_sweeps = 300

    def differences(self, sizes: list[int]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        random = np.random.default_rng(13)
        clusters = np.repeat(np.arange(len(sizes)), sizes)
        noise = random.normal(size=(len(sizes), self.n_sweeps))[clusters]
        return noise + random.normal(size=(len(clusters), self.n_sweeps)), clusters

    @pytest.mark.parametrize("sizes", [[40, 10, 5, 3, 1, 1], [30, 20, 10] + [2] * 17, [100] + [1] * 50])
    def test_unequal_group_intervals_cover_the_difference_and_agree_with_p(self, sizes: list[int]) -> None:
        noise, clusters = self.differences(sizes)
        found = TEST.compare(scores_of([np.zeros(len(clusters)), *noise.T], clusters), ALPHA)
        holds = [one.low is None or one.high is None or one.low <= 0.0 <= one.high for one in found]
        assert sum(holds) >= stats.binom.ppf(0.01, self.n_sweeps, 1 - ALPHA)
        assert all(held for held, one in zip(holds, found, strict=True) if one.p is not None and one.p > ALPHA)

    @pytest.mark.parametrize(("sizes", "n_strata"), [([40, 10, 5, 3, 1, 1] * 2, 2), ([20, 5, 1] * 4, 4)])
    def test_intervals_of_means_over_subsets_cover_the_difference(self, sizes: list[int], n_strata: int) -> None:
        noise, clusters = self.differences(sizes)
        strata = np.repeat(np.arange(n_strata), len(sizes) // n_strata)[clusters]
        found = TEST.compare(scores_of([np.zeros(len(clusters)), *noise.T], clusters, strata), ALPHA)
        holds = [one.low is None or one.high is None or one.low <= 0.0 <= one.high for one in found]
        assert sum(holds) >= stats.binom.ppf(0.01, self.n_sweeps, 1 - ALPHA)

    @pytest.mark.parametrize("sizes", [[40, 10, 5, 3, 1, 1], [30, 20, 10] + [2] * 17])
    def test_critical_value_is_rarely_exceeded_with_unequal_groups(self, sizes: list[int]) -> None:
        noise, clusters = self.differences(sizes)
        n_false = 0
        for noise_of_one in noise.T:
            scores = scores_of([np.zeros(len(clusters)), noise_of_one], clusters)
            best = best_cells(scores, larger_is_better=True, alpha=ALPHA, n_resamples=299, seed=0)
            (one,) = PairedTest(n_resamples=2).compare(scores, ALPHA)
            assert best.critical is not None
            assert one.difference is not None
            assert one.standard_error is not None
            n_false += abs(one.difference) > best.critical * one.standard_error
        assert n_false <= stats.binom.ppf(0.99, self.n_sweeps, ALPHA)
