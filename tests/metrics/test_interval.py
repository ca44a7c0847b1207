from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.metrics.bleu import Bleu
from components.metrics.interval import Column, Intervals
from components.records import Interval, IntervalMethod
from tests.contracts.metric_contract import qa_sample, score_texts

ALL = [slice(None)]


def _column(values: NDArray[np.float64], *, is_share: bool = True) -> Column:
    """The mean of the values that are not NaN."""
    return Column(np.column_stack([np.nan_to_num(values), ~np.isnan(values)]), combine_mean, is_share)


def _interval(
    values: NDArray[np.float64], clusters: NDArray[np.int64] | None = None, *, is_share: bool = True
) -> Interval:
    ((interval,),) = Intervals().subset_intervals([_column(values, is_share=is_share)], ALL, clusters)
    return interval


def _bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def _of_corpus(values: NDArray[np.float64], clusters: NDArray[np.int64] | None = None) -> Interval:
    """A mean computed like a corpus metric, which cannot be recognized as a mean."""
    statistics = np.column_stack([values, np.ones(len(values)), np.zeros(len(values))])
    column = Column(statistics, lambda sums: combine_mean(sums[..., :2]), is_share=False)
    ((interval,),) = Intervals().subset_intervals([column], ALL, clusters)
    return interval


def _bleu_columns(n: int, seed: int = 0) -> Column:
    random = np.random.default_rng(seed)
    lengths = random.integers(10, 40, n)
    totals = [np.maximum(lengths - order, 0) for order in range(4)]
    matched = [random.binomial(total, 0.6 ** (order + 1)) for order, total in enumerate(totals)]
    statistics = np.column_stack([lengths, lengths, *matched, *totals]).astype(np.float64)
    return Column(statistics, lambda sums: Bleu().combine("bleu", sums))


class TestWhichMethod:
    """`method` and `n_clusters` say what an interval is from."""

    def test_interval_requires_at_least_five_clusters(self) -> None:
        values = np.random.default_rng(0).random(40)
        four, five = _interval(values, np.arange(40) % 4), _interval(values, np.arange(40) % 5)
        assert (four.low, four.high, four.method, four.n_clusters) == (None, None, None, 4)
        assert five.method is IntervalMethod.T
        assert five.n_clusters == 5

    @pytest.mark.parametrize("n_clusters", [5, 30, 60])
    def test_values_that_are_not_shares_are_resampled(self, n_clusters: int) -> None:
        values = np.random.default_rng(0).random(60)
        assert _interval(values, np.arange(60) % n_clusters, is_share=False).method is IntervalMethod.BOOTSTRAP

    @pytest.mark.parametrize("n", [5, 30, 500])
    def test_shares_use_a_t_interval_for_any_number_of_clusters(self, n: int) -> None:
        assert _interval(np.random.default_rng(0).random(n)).method is IntervalMethod.T

    @pytest.mark.parametrize("n", [5, 500])
    def test_binary_values_use_the_wilson_interval(self, n: int) -> None:
        assert _interval((np.arange(n) % 3 == 0).astype(np.float64)).method is IntervalMethod.WILSON

    def test_corpus_metric_uses_a_jackknife_t_interval(self) -> None:
        ((interval,),) = Intervals(n_resamples=100).subset_intervals([_bleu_columns(50)], ALL)
        assert interval.method is IntervalMethod.T

    def test_count_of_zero_or_one_is_not_a_share(self) -> None:
        assert _interval(np.array([0.0, 1.0] * 5), is_share=False).method is IntervalMethod.BOOTSTRAP
        assert _bounds(_interval(np.zeros(10), is_share=False)) == (0, 0)

    def test_values_beyond_one_are_not_treated_as_shares(self) -> None:
        low, high = _bounds(_interval(np.array([3.0, 9.0, 1.0, 0.0, 5.0])))
        assert high > 5
        assert low < 1

    def test_clusters_without_values_are_not_counted(self) -> None:
        values = np.where(np.arange(60) < 20, np.random.default_rng(0).random(60), np.nan)
        assert _interval(values, np.arange(60) // 2).n_clusters == 10


class TestStudentsT:
    def test_t_interval_of_single_samples_equals_the_textbook(self) -> None:
        values = np.random.default_rng(1).normal(10, 2, 12)
        expected = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
        assert _bounds(_of_corpus(values)) == pytest.approx(expected)

    def test_t_interval_of_equal_clusters_equals_the_interval_of_means(self) -> None:
        values = np.random.default_rng(1).normal(10, 2, (8, 3))
        means = values.mean(axis=1)
        expected = stats.t.interval(0.95, 7, means.mean(), stats.sem(means))
        found = _of_corpus(values.ravel(), np.repeat(np.arange(8), 3))
        assert _bounds(found) == pytest.approx(expected)

    def test_t_interval_of_a_share_solves_the_score_equation_within_bounds(self) -> None:
        values = np.array([1.0, 1.0, 0.9, 1.0, 1.0, 0.5])
        low, high = _bounds(_interval(values))
        _, plain_high = _bounds(_interval(values, is_share=False))
        mean = values.mean()
        assert plain_high > 1 > high > mean > low
        squares = (values - mean) ** 2
        n_differing = squares.sum() ** 2 / (squares**2).sum()
        variance = stats.sem(values) ** 2 + 8 * mean * (1 - mean) / (1 + n_differing**2) / 6**2
        for bound in (low, high):
            error = np.sqrt(variance * bound * (1 - bound) / (mean * (1 - mean)))
            assert abs(mean - bound) == pytest.approx(stats.t.ppf(0.975, 5) * error)

    def test_t_interval_of_a_share_near_one_is_narrow(self) -> None:
        """63 of 67 samples in ten groups are 1, and the others .84: a logit interval began at .25 or less."""
        clusters = np.repeat(np.arange(10), [20, 12, 9, 7, 5, 5, 3, 3, 2, 1])
        values = np.ones(67)
        values[[0, 25, 40, 50]] = 0.84
        low, high = _bounds(_interval(values, clusters))
        assert 0.9 < low < 0.95
        assert high < 1

    def test_t_interval_of_bleu_equals_the_cluster_jackknife(self) -> None:
        statistics, combine, _ = _bleu_columns(24)
        clusters = np.arange(24) // 3
        without = np.array([combine(statistics[clusters != one].sum(axis=0)) for one in range(8)])
        value = float(combine(statistics.sum(axis=0)))
        error = np.sqrt(7 / 8 * ((without - value) ** 2).sum())
        ((found,),) = Intervals().subset_intervals([Column(statistics, combine, is_share=False)], ALL, clusters)
        assert found.value == value
        half = stats.t.ppf(0.975, 7) * error
        assert _bounds(found) == pytest.approx((value - half, value + half))

    def test_unequal_clusters_have_a_smaller_effective_number(self) -> None:
        """Kish's effective number of clusters of 9, 1, 1, 1, 1, 1 samples is 14^2 / 86."""
        sizes = [9, 1, 1, 1, 1, 1]
        clusters = np.repeat(np.arange(6), sizes)
        values = np.random.default_rng(0).normal(size=14)
        mean = values.mean()
        without = np.array([values[clusters != one].mean() for one in range(6)])
        half = stats.t.ppf(0.975, 14**2 / 86 - 1) * np.sqrt(5 / 6 * ((without - mean) ** 2).sum())
        assert _bounds(_of_corpus(values, clusters)) == pytest.approx((mean - half, mean + half))


class TestSharesThatAreNearlyAllAlike:
    @pytest.mark.parametrize("n", [5, 30, 300])
    @pytest.mark.parametrize("value", [0.1, 0.2, 0.5])
    def test_interval_of_equal_shares_allows_for_unseen_differences(self, value: float, n: int) -> None:
        low, high = _bounds(_interval(np.full(n, value)))
        assert 0 < low < value * (1 - min(0.02, 3 / n))
        assert value < high < 1

    def test_agreeing_clusters_of_different_sizes_do_not_differ_by_rounding(self) -> None:
        clusters = np.repeat(np.arange(12), np.arange(1, 13))
        low, high = _bounds(_interval(np.full(len(clusters), 0.1), clusters))
        n_effective = len(clusters) ** 2 / (np.arange(1, 13) ** 2).sum()
        spread = stats.t.ppf(0.975, n_effective - 1) ** 2 * 8 / n_effective**2
        for bound in (low, high):
            assert (bound - 0.1) ** 2 == pytest.approx(spread * bound * (1 - bound))

    def test_differing_clusters_have_the_plain_interval(self) -> None:
        values = np.random.default_rng(0).random(60)
        low, high = _bounds(_interval(values))
        assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 59) * stats.sem(values), rel=0.03)

    def test_error_of_equal_shares_is_zero(self) -> None:
        assert _interval(np.full(30, 0.2)).error == pytest.approx(0, abs=1e-12)


class TestWilson:
    def test_wilson_interval_of_independent_samples_equals_the_textbook(self) -> None:
        n, n_ones = 1000, 300
        expected = stats.binomtest(n_ones, n).proportion_ci(method="wilson")
        found = _bounds(_interval((np.arange(n) < n_ones).astype(np.float64)))
        assert found == pytest.approx((expected.low, expected.high), abs=2e-4)

    def test_agreeing_clusters_count_as_one_sample_each(self) -> None:
        ones = np.arange(40) % 4 == 0
        of_clusters = _interval(ones[np.repeat(np.arange(40), 5)].astype(np.float64), np.repeat(np.arange(40), 5))
        assert _bounds(of_clusters) == pytest.approx(_bounds(_interval(ones.astype(np.float64))), abs=0.003)

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_wilson_interval_of_equal_values_is_not_degenerate(self, value: float) -> None:
        low, high = _bounds(_interval(np.full(20, value)))
        quantile = stats.t.ppf(0.975, 19)
        width = quantile**2 / (20 + quantile**2)
        assert (low, high) == pytest.approx((0, width) if value == 0 else (1 - width, 1))

    def test_equal_values_in_few_clusters_are_less_certain(self) -> None:
        alone, together = _bounds(_interval(np.ones(60))), _bounds(_interval(np.ones(60), np.arange(60) % 6))
        assert together[0] < alone[0] - 0.3

    def test_single_different_sample_does_not_increase_certainty(self) -> None:
        """The design effect of a single 0 would be 1: its neighbours say what clusters are like."""
        clusters = np.arange(100) % 10
        none, one = np.ones(100), np.concatenate([[0.0], np.ones(99)])
        assert _bounds(_interval(one, clusters))[0] < _bounds(_interval(none, clusters))[0] + 0.15


class TestBootstrap:
    def test_bootstrap_interval_equals_a_plain_studentised_bootstrap(self) -> None:
        """Every resample drawn, averaged and divided by its own standard error, one after the other."""
        values = np.random.default_rng(0).exponential(size=80)
        random, mean = np.random.default_rng(1), values.mean()
        drawn = values[random.integers(80, size=(20_000, 80))]
        distances = (drawn.mean(axis=1) - mean) / (drawn.std(axis=1) / np.sqrt(80))
        below, above = np.quantile(distances, [0.025, 0.975])
        ((ours,),) = Intervals(n_resamples=20_000).subset_intervals([_column(values, is_share=False)], ALL)
        assert ours.value == pytest.approx(mean)
        plain = stats.t.interval(0.95, 79, mean, stats.sem(values))
        expected = min(plain[0], mean - above * stats.sem(values)), max(plain[1], mean - below * stats.sem(values))
        assert _bounds(ours) == pytest.approx(expected, abs=0.12 * stats.sem(values))
        assert expected[1] > plain[1] + 0.2 * stats.sem(values)

    def test_bootstrap_weighs_unequal_groups_by_their_samples(self) -> None:
        """A ratio of sums: two groups in one draw count by their samples, and residuals belong to the drawn mean."""
        sizes = np.arange(1, 13)
        clusters = np.repeat(np.arange(12), sizes)
        values = np.random.default_rng(2).lognormal(size=len(clusters))
        sums = np.bincount(clusters, values)
        chosen = np.random.default_rng((0, 12)).integers(12, size=(10_000, 12))
        means = sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
        errors = np.sqrt(((sums[chosen] - means[:, np.newaxis] * sizes[chosen]) ** 2).sum(axis=1))
        distances = (means - values.mean()) / (errors / sizes[chosen].sum(axis=1))
        found = _interval(values, clusters, is_share=False)
        assert found.error is not None
        assert found.high == pytest.approx(values.mean() - np.quantile(distances, 0.025) * found.error, rel=1e-6)

    def test_bootstrap_draws_clusters_as_a_whole(self) -> None:
        of_clusters = np.random.default_rng(0).random(40)
        clusters = np.repeat(np.arange(40), 5)
        clustered = _interval(of_clusters[clusters], clusters, is_share=False)
        assert clustered.value == pytest.approx(of_clusters.mean())
        assert _bounds(clustered) == pytest.approx(_bounds(_interval(of_clusters, is_share=False)))

    def test_interval_with_one_cluster_per_sample_equals_no_clusters(self) -> None:
        values = np.random.default_rng(0).random(40)
        assert _interval(values, np.arange(40) + 7, is_share=False) == _interval(values, is_share=False)

    def test_left_out_rows_are_resampled_and_do_not_count(self) -> None:
        values = np.random.default_rng(0).random(60)
        with_gaps = np.where(np.arange(120) < 60, np.concatenate([values, values]), np.nan)
        ours, without = _interval(with_gaps, is_share=False), _interval(values, is_share=False)
        assert ours.value == pytest.approx(values.mean())
        assert _bounds(ours) == pytest.approx(_bounds(without), abs=0.02)

    def test_interval_of_a_constant_has_no_width(self) -> None:
        interval = _interval(np.full(300, 0.1), is_share=False)
        assert interval.value == pytest.approx(0.1, abs=1e-12)
        assert _bounds(interval) == (interval.value, interval.value)


class TestManyColumnsAndSubsets:
    def columns(self) -> list[Column]:
        random = np.random.default_rng(3)
        gaps = np.where(random.random(60) < 0.3, np.nan, random.random(60))
        return [_column(gaps), _column(gaps, is_share=False), _bleu_columns(60), _column(random.choice([0.0, 1.0], 60))]

    @pytest.mark.parametrize("clusters", [None, np.random.default_rng(5).integers(0, 45, 60)])
    def test_joint_intervals_equal_separate_intervals_to_the_byte(self, clusters: NDArray[np.int64] | None) -> None:
        random = np.random.default_rng(6)
        sizes = [0, 1, 2, 5, 5, 8, 12, 30, 40, 40, 60]
        subsets = [sorted(random.choice(60, size, replace=False).tolist()) for size in sizes]
        intervals = Intervals(n_resamples=300, seed=7)
        found = intervals.subset_intervals(self.columns(), subsets, clusters)
        for rows, own in zip(subsets, found, strict=True):
            for column, interval in zip(self.columns(), own, strict=True):
                statistics, combine, is_share = column
                alone = Column(statistics[rows], combine, is_share)
                assert intervals.subset_intervals([alone], ALL, None if clusters is None else clusters[rows]) == [
                    [interval]
                ]

    def test_seed_changes_the_resamples(self) -> None:
        columns = [_column(np.random.default_rng(0).random(50), is_share=False)]
        assert Intervals(300).subset_intervals(columns, ALL) != Intervals(300, seed=1).subset_intervals(columns, ALL)

    def test_empty_columns_give_no_intervals(self) -> None:
        assert Intervals().subset_intervals([], [slice(None), [0]]) == [[], []]
        assert Intervals().mean_intervals([], [slice(None)]) == []

    def test_columns_of_different_samples_are_rejected(self) -> None:
        with pytest.raises(ComponentError, match=r"\[2, 3\]"):
            Intervals().subset_intervals([_column(np.ones(2)), _column(np.ones(3))], ALL)
        with pytest.raises(ComponentError, match=r"\[2, 4\]"):
            Intervals().subset_intervals([_column(np.ones(2))], ALL, np.zeros(4, dtype=np.int64))

    def test_columns_may_have_different_statistics(self) -> None:
        answers = ["会议在北京举行", "会议在上海举行", "", "今天天气很好适合出行", "明天也好"]
        references = ["会议在北京举行", "会议于北京举行", "没有回答", "今天天气很好", "明天也很好"]
        scores = score_texts(Bleu(), [qa_sample(text) for text in references], answers)["bleu"]
        bleu = Column(scores.statistics, lambda sums: Bleu().combine("bleu", sums))
        ((of_bleu, of_mean),) = Intervals().subset_intervals([bleu, _column(np.array([0.0, 0, 1, 1, 1]))], ALL)
        assert of_bleu.value == Bleu().combine("bleu", scores.statistics.sum(axis=0))
        low, high = _bounds(of_bleu)
        assert 0 <= low < high <= 1
        assert of_mean.value == 0.6


@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.nan]])
def test_interval_without_a_value_is_empty(values: list[float]) -> None:
    assert _interval(np.array(values)) == Interval(None, None, None)


def test_single_value_has_no_interval() -> None:
    assert _interval(np.array([np.nan, 0.5, np.nan])) == Interval(0.5, None, None, 1, n_effective=1.0)


def test_interval_check_reports_all_invalid_fields() -> None:
    assert Intervals().check() == []
    assert len(Intervals(n_resamples=1, confidence=95, seed=-1).check()) == 3


class TestMeanOverSubsets:
    def mean_intervals(self, *groups: list[float], clusters: list[int] | None = None) -> Interval:
        scores = mean_scores([value for group in groups for value in group])
        ends = np.cumsum([0, *map(len, groups)])
        rows = [list(range(first, last)) for first, last in pairwise(ends.tolist())]
        own = None if clusters is None else np.array(clusters)
        (found,) = Intervals().mean_intervals([Column(scores.statistics, combine_mean, is_share=False)], rows, own)
        return found

    def test_variance_of_a_mean_over_subsets_averages_their_variances(self) -> None:
        random = np.random.default_rng(0)
        groups = [random.normal(size=200).tolist() for _ in range(4)]
        macro = self.mean_intervals(*groups)
        error = np.sqrt(sum(stats.sem(group) ** 2 for group in groups)) / 4
        low, high = _bounds(macro)
        assert macro.value == pytest.approx(np.mean([np.mean(group) for group in groups]))
        assert high - low == pytest.approx(2 * 1.963 * error, rel=0.001)

    def test_small_group_leaves_the_mean_few_degrees_of_freedom(self) -> None:
        """Nearly all of the variance is from the group of three, as in Welch's test."""
        groups = [[0.0, 5.0, 13.0], np.linspace(0.0, 0.1, 50).tolist()]
        low, high = _bounds(self.mean_intervals(*groups))
        assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 2) * stats.sem(groups[0]) / 2, rel=0.01)

    def test_clusters_shared_by_subsets_correlate_the_subset_means(self) -> None:
        """Each document has a question in both groups, equally hard, so the mean equals the mean of one group."""
        values = np.random.default_rng(1).normal(size=12).tolist()
        together = self.mean_intervals(values, values, clusters=[*range(12), *range(12)])
        apart, one = self.mean_intervals(values, values), self.mean_intervals(values)
        assert _bounds(together) == pytest.approx(_bounds(one))
        low, high = _bounds(apart)
        assert high - low < 0.75 * np.subtract(*_bounds(one)[::-1])

    def test_group_of_one_leaves_the_mean_without_an_interval(self) -> None:
        found = self.mean_intervals([0.1, 0.2, 0.4, 0.5, 0.9], [0.5])
        assert found.value == pytest.approx((0.42 + 0.5) / 2)
        assert (found.low, found.high, found.method) == (None, None, None)

    def test_groups_without_values_are_left_out_of_the_mean(self) -> None:
        column = _column(np.array([0.1, 0.4, 0.2, 0.3, 0.9, np.nan, np.nan]))
        (found,) = Intervals().mean_intervals([column], [range(5), [5, 6]])
        ((alone,),) = Intervals().subset_intervals([column], [range(5)])
        assert found == alone

    def test_interval_of_a_mean_of_zeros_is_not_degenerate(self) -> None:
        (found,) = Intervals().mean_intervals([_column(np.zeros(12))], [range(6), range(6, 12)])
        assert found.method is IntervalMethod.WILSON
        assert _bounds(found)[1] > 0.2
