"""Contributions of groups of samples: exact for a mean, first-order for a metric of a corpus."""

import numpy as np
import pytest
from numpy.typing import NDArray

from components.metrics.bleu import Bleu
from components.statistics import PairedTest, SampleScores
from components.statistics.contributions import contributions
from tests.statistics.cells import scores_of

CLUSTERS = np.repeat(np.arange(30), 3)
ONE_STRATUM = np.zeros(90, dtype=np.int64)


def combine_mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    means: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return means


def as_corpus(cells: list[NDArray[np.float64]], clusters: NDArray[np.int64], strata: NDArray[np.int64]) -> SampleScores:
    """A mean, as a ratio of two sums."""
    statistics = np.stack([np.column_stack([values, np.ones(len(values))]) for values in cells], axis=1)
    return SampleScores(statistics, clusters, strata, combine_mean)


@pytest.fixture
def cells() -> list[NDArray[np.float64]]:
    random = np.random.default_rng(4)
    baseline = random.random(90)
    return [baseline, baseline + random.normal(0.05, 0.2, 90)]


class TestOfAMean:
    def test_contributions_sum_to_the_mean_and_centred_to_zero(self, cells: list[NDArray[np.float64]]) -> None:
        found = contributions(scores_of(cells, CLUSTERS))
        assert found.values == pytest.approx([values.mean() for values in cells])
        assert found.total.sum(axis=0) == pytest.approx(found.values)
        assert found.centred.sum(axis=0) == pytest.approx([0, 0], abs=1e-15)
        assert found.total[0] == pytest.approx([values[:3].sum() / 90 for values in cells])

    def test_contribution_differences_equal_differences_of_means(self, cells: list[NDArray[np.float64]]) -> None:
        both = contributions(scores_of(cells, CLUSTERS))
        found = both.subtract_cell(0, [1])
        assert found.values == pytest.approx([(cells[1] - cells[0]).mean()])
        assert found.total[:, 0] == pytest.approx((cells[1] - cells[0]).reshape(30, 3).sum(axis=1) / 90)

    def test_squared_contributions_sum_to_the_variance(self, cells: list[NDArray[np.float64]]) -> None:
        found = contributions(scores_of(cells, CLUSTERS))
        means = cells[1].reshape(30, 3).mean(axis=1)
        assert (found.centred[:, 1] ** 2).sum() == pytest.approx(means.var(ddof=1) / 30)

    def test_contributions_without_samples_are_nan(self) -> None:
        found = contributions(scores_of([np.zeros(0), np.zeros(0)], np.zeros(0, dtype=np.int64)))
        assert np.isnan(found.values).all()
        assert (found.n_clusters, found.has_spread) == (0, False)


class TestOfTheMacroMean:
    strata = np.repeat([0, 1], [60, 30])

    def test_macro_contributions_weigh_subsets_equally(self, cells: list[NDArray[np.float64]]) -> None:
        found = contributions(scores_of(cells, CLUSTERS, self.strata))
        assert found.values == pytest.approx([(values[:60].mean() + values[60:].mean()) / 2 for values in cells])
        assert found.total.sum(axis=0) == pytest.approx(found.values)

    def test_subset_of_one_cluster_has_no_spread(self, cells: list[NDArray[np.float64]]) -> None:
        clusters = np.append(np.arange(60), np.full(30, 60))
        found = contributions(scores_of(cells, clusters, self.strata))
        assert (found.n_lone_strata, found.has_spread) == (1, False)

    def test_macro_mean_interval_equals_resampling_within_subsets(self, cells: list[NDArray[np.float64]]) -> None:
        (found,) = PairedTest().compare(scores_of(cells, np.arange(90), self.strata), 0.05)
        random, differences = np.random.default_rng(9), cells[1] - cells[0]
        drawn = [random.choice(part, (10_000, len(part))).mean(axis=1) for part in (differences[:60], differences[60:])]
        low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.008)


class TestOfACorpus:
    @pytest.mark.parametrize("n_strata", [1, 2])
    def test_ratio_of_sums_is_compared_like_the_mean_it_equals(
        self, cells: list[NDArray[np.float64]], n_strata: int
    ) -> None:
        test, strata = PairedTest(n_resamples=2000), np.arange(90) % n_strata
        (expected,) = test.compare(scores_of(cells, CLUSTERS, strata), 0.05)
        (found,) = test.compare(as_corpus(cells, CLUSTERS, strata), 0.05)
        assert (found.n, found.n_clusters) == (90, 30)
        assert found.difference == pytest.approx(expected.difference)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-4)
        assert found.p == pytest.approx(expected.p, abs=2 / 2000)
        assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-4)

    def test_bleu_contributions_equal_leaving_one_group_out(self) -> None:
        random = np.random.default_rng(1)
        totals = random.integers(60, 90, (200, 1)) - np.arange(4)
        matched = (totals * [0.6, 0.35, 0.2, 0.1] * random.uniform(0.5, 1.0, (200, 4))).round()
        statistics = np.column_stack([totals[:, 0], totals[:, 0] + random.integers(-9, 12, 200), matched, totals])
        bleu = Bleu(language="zh")

        def combine(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            return bleu.combine("bleu", sums)

        found = contributions(
            SampleScores(
                statistics[:, np.newaxis].astype(np.float64),
                np.arange(200),
                np.zeros(200, dtype=np.int64),
                combine,
            )
        )
        whole = statistics.sum(axis=0)
        without = combine(whole) - combine(whole - statistics)
        assert found.values[0] == pytest.approx(float(combine(whole)))
        assert found.centred[:, 0] * np.sqrt(199 / 200) == pytest.approx(without, rel=0.03, abs=2e-6)

    def test_ratio_test_keeps_its_false_positive_rate(self) -> None:
        """Two equal systems are compared by a ratio of sums (as BLEU's precisions are): 5 % of 400 sweeps differ."""
        random = np.random.default_rng(0)
        test = PairedTest(n_resamples=400)
        n_false = 0
        for _ in range(400):
            both = [np.column_stack([random.poisson(3, 40), random.poisson(6, 40) + 1.0]) for _ in range(2)]
            strata = np.zeros(40, dtype=np.int64)
            sweep = SampleScores(np.stack(both, axis=1), np.arange(40), strata, combine_mean)
            (found,) = test.compare(sweep, 0.05)
            assert found.p is not None
            n_false += found.p <= 0.05
        assert 9 <= n_false <= 33
