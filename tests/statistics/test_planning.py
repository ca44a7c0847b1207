"""Detectable differences of a planned sweep, from the spread of other cells and from an assumed spread."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from components.statistics import (
    Precision,
    assumed_precision,
    best_cells,
    critical_range,
    critical_value,
    measured_precision,
    minimum_detectable_difference,
)
from tests.statistics.cells import scores_of

ALPHA = 0.05


def cells(n_cells: int, n: int = 60, *, skewed: bool = False) -> list[NDArray[np.float64]]:
    random = np.random.default_rng(0)
    noise = random.exponential(size=(n_cells, n)) if skewed else random.normal(size=(n_cells, n))
    return list(noise + np.arange(n_cells)[:, np.newaxis])  # the last is the best


class TestTheLargestOfManyDifferences:
    def test_critical_value_of_two_cells_equals_a_single_comparison(self) -> None:
        assert critical_range(2, 17, ALPHA) == pytest.approx(critical_value(17, ALPHA))

    @pytest.mark.parametrize(("n_cells", "df", "tabled"), [(3, 10, 3.877), (10, 60, 4.646)])
    def test_critical_values_of_many_cells_equal_printed_tables(self, n_cells: int, df: int, tabled: float) -> None:
        assert critical_range(n_cells, df, ALPHA) * 2**0.5 == pytest.approx(tabled, abs=6e-3)


class TestMeasured:
    @pytest.mark.parametrize("skewed", [False, True])
    def test_measured_precision_equals_the_detectable_difference_of_the_test(self, *, skewed: bool) -> None:
        """The test of the best cell applies: see `best_cells`."""
        values = cells(4, 25, skewed=skewed)
        scores = scores_of(values, np.arange(25))
        precision = measured_precision(scores, larger_is_better=True)
        critical = best_cells(scores, larger_is_better=True, alpha=ALPHA, n_resamples=10_000, seed=1).critical
        assert precision is not None
        assert critical is not None
        errors = [float(np.std(own - values[3], ddof=1)) / 5 for own in values[:3]]
        expected = [minimum_detectable_difference(error, 24, critical=critical) for error in errors]
        assert precision.detectable(4) == pytest.approx([min(expected), max(expected)], rel=0.05)

    def test_measured_precision_respects_a_minimized_metric(self) -> None:
        values = cells(3)
        precision = measured_precision(scores_of(values, np.arange(60)), larger_is_better=False)
        assert precision is not None
        errors = [float(np.std(own - values[0], ddof=1)) / 60**0.5 for own in values[1:]]
        assert precision.standard_errors == pytest.approx((min(errors), max(errors)))

    def test_equal_cells_count_once_in_measured_precision(self) -> None:
        values = cells(3)
        once = measured_precision(scores_of(values, np.arange(60)), larger_is_better=True)
        assert measured_precision(scores_of([*values, *values], np.arange(60)), larger_is_better=True) == once

    def test_equal_cells_give_no_precision(self) -> None:
        same = cells(1) * 3
        assert measured_precision(scores_of(same, np.arange(60)), larger_is_better=True) is None

    def test_samples_of_one_cluster_give_no_precision(self) -> None:
        scores = scores_of(cells(3), np.zeros(60, dtype=np.int64))
        assert measured_precision(scores, larger_is_better=True) is None

    def test_measured_precision_covers_more_cells_than_are_tested(self) -> None:
        values = cells(30)
        values[0] *= 10  # the worst cell varies most
        precision = measured_precision(scores_of(values, np.arange(60)), larger_is_better=True)
        assert precision is not None
        assert precision.standard_errors[1] == pytest.approx(np.std(values[0] - values[29], ddof=1) / 60**0.5)
        assert 0.9 < precision.excess < 1.1


class TestAssumed:
    def test_independent_samples_have_the_error_of_a_mean(self) -> None:
        found = assumed_precision(np.arange(100), deviation=0.25, correlation=0.1)
        assert found == Precision((0.025, 0.025), 99, 100, 100.0)

    def test_fully_correlated_samples_of_a_cluster_count_as_one(self) -> None:
        found = assumed_precision(np.repeat(np.arange(25), 4), deviation=0.25, correlation=1.0)
        assert found == Precision((0.05, 0.05), 24, 25, 25.0)

    def test_planned_difference_without_samples_is_infinite(self) -> None:
        nothing = assumed_precision(np.zeros(0, dtype=np.int64), deviation=0.25, correlation=0.1)
        assert nothing.detectable(2) == [np.inf, np.inf]


def test_detectable_difference_grows_with_the_number_of_cells() -> None:
    precision = Precision((0.01, 0.01), 99, 100, 100.0)
    sizes = [precision.detectable(n_cells)[0] for n_cells in (2, 6, 40)]
    assert sizes == pytest.approx([0.0283, 0.0375, 0.0486], abs=1e-4)


@pytest.mark.parametrize(("n_clusters", "has_enough_clusters"), [(7, False), (8, True)])
def test_planned_difference_is_infinite_below_eight_clusters(n_clusters: int, *, has_enough_clusters: bool) -> None:
    size, _ = Precision((0.01, 0.01), n_clusters - 1, n_clusters, n_clusters).detectable(2)
    assert np.isfinite(size) == has_enough_clusters


@pytest.mark.parametrize(("largest", "has_enough_clusters"), [(20, True), (60, False)])
def test_planned_difference_of_a_dominant_cluster_is_infinite(largest: int, *, has_enough_clusters: bool) -> None:
    """Forty clusters have one to four samples each, and one of them is larger. (2 / 3)^7.39 is .05."""
    sizes = np.array([largest, *np.resize([1, 2, 3, 4], 39)])
    clusters = np.repeat(np.arange(40), sizes)
    values = np.random.default_rng(0).normal(size=(2, len(clusters)))
    measured = measured_precision(scores_of(list(values), clusters), larger_is_better=True)
    assert measured is not None
    for precision in (measured, assumed_precision(clusters, deviation=0.25, correlation=0.1)):
        assert precision.n_effective == pytest.approx(len(clusters) ** 2 / (sizes**2).sum())
        assert (precision.n_effective > 7.39) == np.isfinite(precision.detectable(2)).all() == has_enough_clusters


@pytest.mark.parametrize("n_clusters", [8, 300])
def test_estimated_number_of_clusters_makes_the_difference_detectable(n_clusters: int) -> None:
    precision = Precision((0.01, 0.03), n_clusters - 1, n_clusters, n_clusters, excess=1.2)
    for error, times in zip(precision.standard_errors, precision.times_as_many(0.02, 6), strict=True):
        alone = replace(precision, standard_errors=(error, error))
        assert alone.detectable(6, times) == pytest.approx([0.02, 0.02], rel=0.03)


def test_planned_difference_is_found_with_the_stated_power() -> None:
    """The best and the worst of six cells have the assumed difference, in groups of one to eight samples."""
    clusters = np.repeat(np.arange(60), np.resize([1, 2, 4, 8], 60))
    deviation, correlation, n_sweeps = 0.25, 0.1, 200
    size, _ = assumed_precision(clusters, deviation=deviation, correlation=correlation).detectable(6)
    random = np.random.default_rng(3)
    shared, alone = (deviation * (share / 2) ** 0.5 for share in (correlation, 1 - correlation))
    n_found = 0
    for _ in range(n_sweeps):
        noise = shared * random.normal(size=(60, 6))[clusters] + alone * random.normal(size=(len(clusters), 6))
        values = noise + size * np.array([1, 0.5, 0.5, 0.5, 0.5, 0])
        found = best_cells(
            scores_of(list(values.T), clusters), larger_is_better=True, alpha=ALPHA, n_resamples=299, seed=0
        )
        n_found += int(found.p[5] <= ALPHA)
    assert n_found / n_sweeps == pytest.approx(0.8, abs=0.07)
