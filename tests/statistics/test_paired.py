import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from components.statistics import Comparison, Contributions, PairedTest, best_cells, chance, contributions
from tests.statistics.cells import scores_of

TEST = PairedTest()
CLUSTERS = np.repeat(np.arange(20), [1, 2, 3, 4, 5] * 4)
N = len(CLUSTERS)


def differences(seed: int, shift: float = 0.0, n: int = N) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(shift, 1.0, n)


def compare(values: NDArray[np.float64], clusters: NDArray[np.int64] = CLUSTERS, test: PairedTest = TEST) -> Comparison:
    (only,) = test.compare(scores_of([np.zeros(len(values)), values], clusters), 0.05)
    return only


def test_documented_group_numbers_equal_the_smallest_significant_ones() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")
    table = page.split("### Groups needed")[1].split("###")[0]
    rows = [tuple(map(int, row)) for row in re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", table, re.MULTILINE)]
    assert len(rows) == 3
    for n_others, *stated in rows:
        for n_groups, is_right_or_wrong in zip(stated, (False, True), strict=True):
            found = [TEST.smallest_p(n, n, is_right_or_wrong=is_right_or_wrong) for n in (n_groups - 1, n_groups)]
            assert found[0] > 0.05 / n_others >= found[1]


def wins_and_losses(n_wins: int, n_losses: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return right-or-wrong scores of a baseline and of a cell that wins and loses against it."""
    order = np.arange(n)
    lost = (order >= n_wins) & (order < n_wins + n_losses)
    return lost.astype(np.float64), (order < n_wins).astype(np.float64)


class TestRightOrWrong:
    @pytest.mark.parametrize(("n_wins", "n_losses"), [(11, 1), (12, 3), (24, 0), (5, 0), (20, 1), (7, 5), (3, 14)])
    def test_p_value_is_that_of_the_exact_mcnemar_test(self, n_wins: int, n_losses: int) -> None:
        scores = scores_of(wins_and_losses(n_wins, n_losses, 25), np.arange(25))
        (found,) = TEST.compare(scores, 0.05)
        best = best_cells(scores, larger_is_better=True, alpha=0.05, n_resamples=TEST.n_resamples, seed=0)
        exact = stats.binomtest(n_wins, n_wins + n_losses).pvalue
        error = 4 * np.sqrt(exact * (1 - exact) / TEST.n_resamples) + 1 / TEST.n_resamples
        assert found.p == pytest.approx(exact)
        assert best.p.min() == pytest.approx(exact, abs=error)

    @pytest.mark.parametrize(("n_wins", "n_losses"), [(11, 1), (12, 3), (24, 0), (25, 0), (5, 0), (7, 5), (0, 9)])
    def test_interval_holds_zero_exactly_if_the_test_does(self, n_wins: int, n_losses: int) -> None:
        found = compare_wins(n_wins, n_losses)
        assert found.low is not None
        assert found.high is not None
        assert found.p is not None
        assert (found.low <= 0 <= found.high) == (found.p > 0.05)
        assert -1 <= found.low < (n_wins - n_losses) / 25 <= found.high <= 1

    def test_interval_after_only_wins_has_a_width(self) -> None:
        found = compare_wins(25, 0)
        assert (found.low, found.high) == (pytest.approx(0.78, abs=0.02), 1.0)

    def test_interval_of_cells_that_agree_everywhere_has_no_width(self) -> None:
        found = compare_wins(0, 0)
        assert (found.low, found.high, found.p) == (0.0, 0.0, 1.0)

    @pytest.mark.parametrize(("wins", "losses"), [(0.9, 0.02), (0.4, 0.05), (0.3, 0.3)])
    def test_interval_covers_the_true_difference(self, wins: float, losses: float) -> None:
        random = np.random.default_rng(5)
        draws = random.choice([1.0, -1.0, 0.0], p=[wins, losses, 1 - wins - losses], size=(25, 300))
        test = PairedTest(n_resamples=99)
        n_covered = 0
        for draw in draws.T:
            (found,) = test.compare(scores_of([(draw < 0) * 1.0, (draw > 0) * 1.0], np.arange(25)), 0.05)
            assert found.low is not None
            assert found.high is not None
            n_covered += found.low <= wins - losses <= found.high
        assert n_covered >= stats.binom.ppf(0.005, 300, 0.95)


def compare_wins(n_wins: int, n_losses: int) -> Comparison:
    (found,) = TEST.compare(scores_of(wins_and_losses(n_wins, n_losses, 25), np.arange(25)), 0.05)
    return found


def test_single_outlier_does_not_hide_a_large_difference() -> None:
    """Resamples that miss the outlier have no spread. They counted as infinitely far, with p = 0.6."""
    values = np.array([-1.0] * 22 + [-0.98, -0.97, 0.5])
    found = compare(values, np.arange(25))
    assert found.p is not None
    assert found.high is not None
    assert found.p < 0.01
    assert found.high < -0.5


@pytest.mark.parametrize(("n_groups", "p"), [(9, 0.1431), (12, 0.0540), (16, 0.0137), (20, 0.0033)])
def test_single_outlier_bounds_p_by_the_ways_in_which_it_can_happen(n_groups: int, p: float) -> None:
    """Losses and twofold gains in a third of the groups show at most one gain with this probability."""
    values = np.full(n_groups, -1.0)
    values[3] = 1.0
    assert chance.range_floors(contributions_of(values), 2.0)[0] == pytest.approx(p, abs=1e-4)
    values[3] = -1.0
    assert chance.range_floors(contributions_of(values), 2.0)[0] == pytest.approx((2 / 3) ** n_groups)


def contributions_of(values: NDArray[np.float64]) -> Contributions:
    cells = contributions(scores_of([np.zeros(len(values)), values], np.arange(len(values))))
    return cells.subtract_cell(0, [1])


class TestP:
    @pytest.mark.parametrize("seed", range(4))
    def test_p_value_is_at_least_the_p_value_of_sign_changes(self, seed: int) -> None:
        cell, baseline = differences(seed, 0.5, n=12), differences(seed + 100, n=12)
        exact = stats.permutation_test(
            (cell, baseline), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        ).pvalue
        (found,) = TEST.compare(scores_of([baseline, cell], np.arange(12)), 0.05)
        assert found.p is not None
        assert found.p >= exact - 4 * np.sqrt(exact * (1 - exact) / TEST.n_resamples)

    def test_p_value_of_many_samples_equals_the_sign_change_test(self) -> None:
        """Above a thousand clusters, only this test is used."""
        values = differences(12, 0.05, n=1500)
        by_scipy = stats.permutation_test(
            (values,), np.sum, permutation_type="samples", n_resamples=5_000, rng=np.random.default_rng(5)
        ).pvalue
        found = compare(values, np.arange(1500))
        assert found.p is not None
        assert 0.001 < found.p < 0.3
        assert found.p == pytest.approx(by_scipy, abs=5 * np.sqrt(by_scipy / 5_000))

    def test_p_value_of_symmetric_differences_is_near_a_t_test(self) -> None:
        values = differences(2, 0.25, n=60)
        assert compare(values, np.arange(60)).p == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue, abs=0.02)

    def test_p_value_of_skewed_differences_is_larger_without_the_tail(self) -> None:
        """Twelve draws with a heavy left tail, whose mean is above zero because the tail was not met."""
        values = 1.3 - np.random.default_rng(5).exponential(size=12)
        found = compare(values, np.arange(12))
        assert found.p is not None
        assert found.p > 1.3 * stats.ttest_1samp(values, 0.0).pvalue

    def test_p_value_of_two_clusters_is_at_least_a_half(self) -> None:
        found = compare(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]))
        assert found.p is not None
        assert found.p >= 0.47
        assert TEST.smallest_p(2, 2.0) == 0.5

    def test_gains_and_losses_that_cancel_in_every_group_have_no_interval(self) -> None:
        """An interval without width would claim that the cells are equally good."""
        clusters = np.repeat(np.arange(20), 2)
        found = compare(np.append([0.4, -0.4], np.zeros(38)), clusters)
        assert (found.difference, found.low, found.high, found.p) == (0.0, None, None, 1.0)
        same = compare(np.zeros(40), clusters)
        assert (same.low, same.high) == (0.0, 0.0)

    def test_p_value_of_few_differing_samples_equals_mcnemars_test(self) -> None:
        """Six of 300 answers differ, all to one side, so p is 2 / 2^6 whatever the number of equal answers."""
        found = compare(np.repeat([1.0, 0.0], [6, 294]), np.arange(300))
        assert found.p == pytest.approx(stats.binomtest(6, 6).pvalue, abs=0.01)

    def test_p_value_of_few_graded_differences_allows_for_an_unseen_tail(self) -> None:
        """Losses of .5 in all groups are likely among equal cells that gain 1 in every third group."""
        for n_differing in (6, 7, 8, 12):
            found = compare(np.repeat([-0.5, 0.0], [n_differing, 60 - n_differing]), np.arange(60))
            assert found.p == pytest.approx((2 / 3) ** n_differing, rel=0.01)

    def test_p_value_changes_smoothly_with_the_number_of_differing_groups(self) -> None:
        values = np.random.default_rng(3).normal(0.6, 1.0, 40)
        p = [compare(np.append(values[:k], np.zeros(60 - k)), np.arange(60)).p or 0.0 for k in range(28, 34)]
        assert max(np.abs(np.diff(np.log(p)))) < 1.5

    def test_p_value_counts_ties_despite_rounding(self) -> None:
        """Sums of tenths differ in their last bits by the order of addition."""
        values = np.array([0.1, 0.1, 0.1, -0.3, 0.7])
        exact = np.mean([abs(s @ values) >= 0.7 - 1e-9 for s in np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T])
        found = compare(values, np.arange(5))
        assert found.p is not None
        assert found.p >= exact - 0.02

    def test_p_value_of_equal_cells_is_one(self) -> None:
        found = compare(np.zeros(N))
        assert (found.p, found.low, found.high, found.standard_error) == (1.0, 0.0, 0.0, 0.0)

    def test_p_value_of_cells_equal_up_to_rounding_is_one(self) -> None:
        baseline = differences(3)
        (found,) = TEST.compare(scores_of([baseline, (baseline + 0.1) - 0.1], CLUSTERS), 0.05)
        assert (found.p, found.difference) == (1.0, 0.0)

    def test_p_value_is_never_zero(self) -> None:
        even = np.repeat(np.arange(20), 3)
        graded, right = (compare(np.full(60, value), even) for value in (3.0, 1.0))
        assert graded.n_effective == right.n_effective == pytest.approx(20)
        assert graded.p == pytest.approx(TEST.smallest_p(20, 20.0)) == pytest.approx((2 / 3) ** 20)
        assert right.p == TEST.smallest_p(20, 20.0, is_right_or_wrong=True) > 0

    def test_p_value_of_unequal_groups_is_bounded_by_their_effective_number(self) -> None:
        """Half of the samples in one group and a quarter in each of two are worth 1 / .375 groups."""
        clusters, n_effective = np.repeat([0, 1, 2], [4, 2, 2]), 1 / 0.375
        for difference, base in ((0.3, 2 / 3), (1.0, 1 / 2)):
            differences = contributions(scores_of([np.zeros(8), np.full(8, difference)], clusters)).subtract_cell(
                0, [1]
            )
            assert chance.floors(differences) == pytest.approx([base**n_effective])
        assert compare(np.full(8, 0.3), clusters).n_effective == pytest.approx(n_effective)
        assert TEST.smallest_p(3, n_effective) == pytest.approx((2 / 3) ** n_effective)
        of_swaps = 2.0**-2  # of two of eight sign patterns, more than (1 / 2) ** n_effective
        assert TEST.smallest_p(3, n_effective, is_right_or_wrong=True) == pytest.approx(of_swaps)

    def test_dominant_group_limits_the_smallest_p_value(self) -> None:
        """All twenty groups have the same right-or-wrong difference, and one group has half of the samples."""
        clusters = np.repeat(np.arange(20), [19, *[1] * 19])
        found = compare(np.ones(38), clusters)
        assert found.n_effective == pytest.approx(1 / (0.25 + 19 / 38**2))
        assert found.p == pytest.approx(0.5**found.n_effective)
        assert TEST.smallest_p(20, found.n_effective, is_right_or_wrong=True) == pytest.approx(found.p)

    def test_p_value_counts_only_groups_with_a_difference(self) -> None:
        """A large group in which two cells are equal says nothing about their difference."""
        clusters = np.repeat(np.arange(20), [30, *[1] * 19])
        found = compare(np.repeat([0.0, 0.5], [40, 9]), clusters)
        assert found.p == pytest.approx((2 / 3) ** 9, rel=0.01)

    def test_p_value_ignores_cluster_names_and_sample_order(self) -> None:
        values = differences(8, 0.3)
        order = np.random.default_rng(0).permutation(N)
        assert compare(values, CLUSTERS + 5) == compare(values)
        assert compare(values[order], CLUSTERS[order]).p == compare(values).p

    def test_p_value_does_not_depend_on_other_cells(self) -> None:
        cells = [differences(9), differences(10)]
        together = TEST.compare(scores_of([np.zeros(N), *cells], CLUSTERS), 0.05)
        assert [found.p for found in together] == [compare(values).p for values in cells]

    def test_p_value_ignores_the_sign_of_the_difference(self) -> None:
        values = differences(11, 0.3)
        assert compare(-values).p == compare(values).p


class TestInterval:
    def test_interval_of_symmetric_differences_is_near_students_t(self) -> None:
        values = differences(2, 0.2, n=80)
        found = compare(values, np.arange(80))
        expected = stats.ttest_1samp(values, 0.0).confidence_interval()
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)

    def test_interval_is_never_narrower_than_students_t(self) -> None:
        values = differences(3, 0.2, n=8)
        found = compare(values, np.arange(8))
        expected = stats.ttest_1samp(values, 0.0).confidence_interval()
        assert found.low is not None
        assert found.high is not None
        assert found.high - found.low >= expected.high - expected.low - 1e-12

    def test_interval_includes_zero_unless_a_p_value_can_exclude_zero(self) -> None:
        found = compare(-np.linspace(0.4, 0.6, 7), np.arange(7))
        assert found.p == pytest.approx((2 / 3) ** 7)
        assert found.high == pytest.approx(0.0)

    def test_interval_requires_five_clusters(self) -> None:
        values = differences(4, n=40)
        assert compare(values, np.arange(40) % 4).low is None
        assert compare(values, np.arange(40) % 5).low is not None


class TestStandardError:
    def test_standard_error_without_clusters_equals_the_usual_formula(self) -> None:
        values = differences(5)
        assert compare(values, np.arange(N)).standard_error == pytest.approx(stats.sem(values), rel=1e-12)

    def test_standard_error_with_clusters_equals_statsmodels(self) -> None:
        import statsmodels.api as sm

        values = differences(6) + np.random.default_rng(0).normal(size=20)[CLUSTERS]
        fit = sm.OLS(values, np.ones(N)).fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS})
        assert compare(values).standard_error == pytest.approx(fit.bse[0], rel=1e-10)

    def test_standard_error_of_a_macro_mean_combines_its_subsets(self) -> None:
        values, strata = differences(7, n=9), np.repeat([0, 1], [3, 6])
        (found,) = TEST.compare(scores_of([np.zeros(9), values], np.arange(9), strata), 0.05)
        of_subsets = [stats.sem(values[:3]), stats.sem(values[3:])]
        assert found.standard_error == pytest.approx(np.hypot(*of_subsets) / 2)
        assert found.df == 7

    def test_single_cluster_stratum_has_no_interval(self) -> None:
        """The spread of a single cluster is unknown, and would count as 0."""
        values, strata = np.append(differences(7, n=30), 9.0), np.repeat([0, 1], [30, 1])
        (found,) = TEST.compare(scores_of([np.zeros(31), values], np.arange(31), strata), 0.05)
        assert (found.low, found.high, found.standard_error, found.critical) == (None, None, None, None)
        assert found.p is not None
        assert found.p > 0.5


class TestSamples:
    def test_comparison_without_samples_has_no_values(self) -> None:
        assert compare(np.zeros(0), np.zeros(0, dtype=np.int64)) == Comparison(0, 0)

    def test_samples_of_one_cluster_are_never_significant(self) -> None:
        found = compare(np.array([1.0, 2.0]), np.array([7, 7]))
        assert found == Comparison(2, 1, 1.5, p=1.0, n_effective=1.0)

    def test_difference_weights_samples_not_clusters(self) -> None:
        assert compare(np.array([1.0, 1.0, 1.0, -1.0]), np.array([0, 0, 0, 1])).difference == 0.5
