from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics import Comparison, Method, PairedTest
from tests.analysis.statistics.cells import scores_of

TEST = PairedTest()
CLUSTERS = np.repeat(np.arange(20), [1, 2, 3, 4, 5] * 4)
N = len(CLUSTERS)


def differences(seed: int, shift: float = 0.0, n: int = N) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(shift, 1.0, n)


def compare(values: NDArray[np.float64], clusters: NDArray[np.int64] = CLUSTERS, test: PairedTest = TEST) -> Comparison:
    (only,) = test.compare(scores_of([np.zeros(len(values)), values], clusters))
    return only


class TestPermutation:
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_scipy_on_single_samples(self, seed: int) -> None:
        cell, baseline = differences(seed, 0.5, n=12), differences(seed + 100, n=12)
        exact = stats.permutation_test(
            (cell, baseline), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        ).pvalue
        (found,) = TEST.compare(scores_of([baseline, cell], np.arange(12)))
        assert found.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / TEST.n_resamples))

    def test_equals_scipy_on_clusters_flipped_as_a_whole(self) -> None:
        values = differences(1, 0.35)
        sums = np.bincount(CLUSTERS, weights=values)
        by_scipy = stats.permutation_test(
            (sums,), np.sum, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(5)
        ).pvalue
        found = compare(values)
        assert found.p is not None
        assert 0.001 < found.p < 0.3
        assert found.p == pytest.approx(by_scipy, abs=5 * np.sqrt(by_scipy / TEST.n_resamples))

    def test_p_of_two_clusters_is_a_half_at_best(self) -> None:
        found = compare(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]))
        assert found.p == pytest.approx(0.5, abs=0.03)
        assert TEST.smallest_p(2) == 0.5

    def test_ties_of_discrete_values_count_as_far(self) -> None:
        """Sums of tenths differ in their last bits, by the order in which they are added."""
        values = np.array([0.1, 0.1, 0.1, -0.3, 0.7])
        exact = np.mean([abs(s @ values) >= 0.7 - 1e-9 for s in np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T])
        assert compare(values, np.arange(5)).p == pytest.approx(exact, abs=0.02)


class TestBootstrap:
    def test_interval_equals_scipys(self) -> None:
        values = differences(2, 0.2, n=80)
        by_scipy = stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(0)
        ).confidence_interval
        found = compare(values, np.arange(80))
        assert (found.low, found.high) == pytest.approx((by_scipy.low, by_scipy.high), abs=0.02)

    def test_p_is_where_the_interval_touches_zero(self) -> None:
        values = differences(3, 0.35)
        test = PairedTest(Method.BOOTSTRAP)
        p = compare(values, test=test).p
        assert p is not None
        assert 0.001 < p < 0.5
        wider, narrower = (compare(values, test=replace(test, confidence=1 - p * factor)) for factor in (0.9, 1.1))
        assert wider.low is not None
        assert narrower.low is not None
        assert wider.low < 0 < narrower.low

    def test_interval_does_not_depend_on_the_method(self) -> None:
        values = differences(4)
        found = [compare(values, test=PairedTest(method)) for method in Method]
        assert found[0].low == found[1].low
        assert found[0].p != found[1].p


class TestStandardError:
    def test_without_clusters_is_the_usual_one(self) -> None:
        values = differences(5)
        assert compare(values, np.arange(N)).standard_error == pytest.approx(stats.sem(values), rel=1e-12)

    def test_with_clusters_equals_statsmodels(self) -> None:
        values = differences(6) + np.random.default_rng(0).normal(size=20)[CLUSTERS]
        fit = sm.OLS(values, np.ones(N)).fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS})
        assert compare(values).standard_error == pytest.approx(fit.bse[0], rel=1e-10)


class TestSamples:
    def test_without_a_value_on_either_side_are_left_out(self) -> None:
        cell, baseline = np.array([1.0, np.nan, 3.0, 5.0]), np.array([0.5, 1.0, np.nan, 1.0])
        (found,) = TEST.compare(scores_of([baseline, cell], np.arange(4)))
        assert (found.n, found.n_clusters) == (2, 2)
        assert found.difference == pytest.approx((0.5 + 4.0) / 2)

    def test_in_no_common_give_no_numbers(self) -> None:
        found = compare(np.full(3, np.nan), np.arange(3))
        assert found == Comparison(0, 0, None, None, None, None, None)
        assert compare(np.zeros(0), np.zeros(0, dtype=np.int64)) == found

    def test_of_one_cluster_show_nothing_about_others(self) -> None:
        found = compare(np.array([1.0, 2.0]), np.array([7, 7]))
        assert found == Comparison(2, 1, 1.5, None, None, 1.0, None)

    def test_of_large_clusters_weigh_more(self) -> None:
        assert compare(np.array([1.0, 1.0, 1.0, -1.0]), np.array([0, 0, 0, 1])).difference == 0.5


@pytest.mark.parametrize("method", Method)
class TestEveryMethod:
    def test_equal_cells_are_equal(self, method: Method) -> None:
        found = compare(np.zeros(N), test=PairedTest(method))
        assert (found.p, found.low, found.high, found.standard_error) == (1.0, 0.0, 0.0, 0.0)

    def test_p_is_never_zero(self, method: Method) -> None:
        test = PairedTest(method)
        assert compare(np.full(N, 3.0), test=test).p == test.smallest_p(20) > 0

    def test_the_names_of_clusters_and_the_order_of_samples_do_not_matter(self, method: Method) -> None:
        values, test = differences(8, 0.3), PairedTest(method)
        order = np.random.default_rng(0).permutation(N)
        assert compare(values, CLUSTERS + 5, test=test) == compare(values, test=test)
        assert compare(values[order], CLUSTERS[order], test).p == compare(values, test=test).p

    def test_another_cell_changes_no_p(self, method: Method) -> None:
        cells, test = [differences(9), differences(10)], PairedTest(method)
        together = test.compare(scores_of([np.zeros(N), *cells], CLUSTERS))
        assert [found.p for found in together] == [compare(values, test=test).p for values in cells]

    def test_signs_are_symmetric(self, method: Method) -> None:
        values, test = differences(11, 0.3), PairedTest(method)
        assert compare(-values, test=test).p == compare(values, test=test).p
