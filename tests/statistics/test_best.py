"""Cells that may be the best. test_error_rates.py measures how often this is wrong."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import components.statistics.best as best_module
from components.statistics import (
    BestCells,
    PairedTest,
    SampleScores,
    best_cells,
    contributions,
    equal_cells_p_value,
    within_standard_error,
)
from tests.statistics.cells import scores_of

N = 60


def best(scores: SampleScores, *, larger_is_better: bool = True, alpha: float = 0.05) -> BestCells:
    return best_cells(scores, larger_is_better=larger_is_better, alpha=alpha, n_resamples=4000, seed=0)


def cells(seed: int, *means: float) -> list[NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    hard = random.normal(size=N)
    return [hard + random.normal(mean, 0.5, N) for mean in means]


def test_best_of_two_cells_equals_a_permutation_test() -> None:
    """P is at least the p of a permutation test. By chance one tail is heavier than the other, and p then rises up to
    twofold.
    """
    first, second = cells(1, 0.15, 0.0)
    expected = stats.permutation_test(
        (first - second,),
        lambda values: abs(values.sum()),
        permutation_type="samples",
        alternative="greater",
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    ).pvalue
    found = best(scores_of([first, second], np.arange(N)))
    assert 0.01 < expected < 0.5
    assert found.p[0] == 1.0
    assert expected - 0.005 <= found.p[1] <= 2 * expected


def test_range_of_the_scores_separates_cells_despite_an_outlier() -> None:
    """A cell is wrong in 24 of 25 samples, and nearly right in one. Resamples without this one have no spread."""
    worse = np.zeros(25)
    worse[0] = 0.9
    found = best(scores_of([np.ones(25), worse], np.arange(25)))
    assert found.p[1] < 0.01
    assert found.critical is not None
    assert np.isfinite(found.critical)


@pytest.mark.parametrize("n_others", [1, 9])
def test_small_losses_do_not_exclude_rare_large_gains(n_others: int) -> None:
    """Nine cells lose 0.1 in all ten samples or gain 0.9 in one. The others may gain as much in further samples."""
    others = [np.full(10, -0.1) for _ in range(n_others)]
    for i, other in enumerate(others[1:]):
        other[i] = 0.9
    found = best(scores_of([np.zeros(10), *others], np.arange(10)))
    assert (found.p > (0.05 if n_others > 1 else 0.01)).all()


def test_critical_value_of_the_best_grows_with_the_cells() -> None:
    few, many = (best(scores_of(cells(3, *[0.0] * n), np.arange(N))) for n in (2, 20))
    assert few.critical is not None
    assert many.critical is not None
    assert few.critical == pytest.approx(stats.t.ppf(0.975, N - 1), abs=0.15)
    assert many.critical > 3.0


def test_cell_may_be_dropped_because_of_another_dropped_cell() -> None:
    """A close relative of the second shows that it is not the best; the best, which varies on its own, does not."""
    random = np.random.default_rng(4)
    second = random.normal(size=N)
    relative = second + 0.1 + random.normal(0, 0.01, N)
    winner = random.normal(0.15, 1.0, N)
    winner += relative.mean() + 0.05 - winner.mean()
    assert best(scores_of([winner, second], np.arange(N))).p[1] > 0.2
    found = best(scores_of([winner, second, relative], np.arange(N)))
    assert found.p[1] < 0.01
    assert found.p[2] > 0.2


def test_dropped_cell_no_longer_hides_the_next_cell() -> None:
    """On its own, the second cell would be excluded. Among many noisy bad cells, it is excluded only after them."""
    random = np.random.default_rng(5)
    first, noise = random.normal(size=N), random.normal(size=N)
    second = first - 2.6 / np.sqrt(N) + (noise - noise.mean()) / noise.std()
    noisy = [random.normal(-4.0, 1.0, N) for _ in range(40)]
    alone = best(scores_of([first, second], np.arange(N)))
    beside = best(scores_of([first, second, *noisy], np.arange(N)))
    assert alone.p[1] <= 0.05
    assert beside.p[1] <= 0.05
    assert beside.critical is not None
    assert beside.critical > 2.8


def test_later_rounds_reuse_the_resamples_of_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    n_measured = n_rounds = 0
    largest_of_first, of = best_module._largest_differences, best_module._LargestByChance.among

    def counted(measure: best_module.BestMeasure, order: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        nonlocal n_measured
        n_measured += 1
        return largest_of_first(measure, order)

    def counted_round(own: best_module._LargestByChance, left: NDArray[np.int64]) -> NDArray[np.float64]:
        nonlocal n_rounds
        n_rounds += 1
        return of(own, left)

    scores = scores_of(cells(5, 1.0, 1.0, 0.9, 0.5, 0.3, 0.0, -1.0), np.arange(N))
    expected = best(scores)
    monkeypatch.setattr(best_module, "_largest_differences", counted)
    monkeypatch.setattr(best_module._LargestByChance, "among", counted_round)
    assert (best(scores).p == expected.p).all()
    assert n_rounds > 2
    assert n_measured == 3, "once by sign changes, twice by redrawing"


def test_best_cells_respect_a_minimized_metric() -> None:
    scores = scores_of(cells(7, 0.0, 2.0), np.arange(N))
    assert best(scores).p == pytest.approx([0.0, 1.0], abs=0.001)
    assert best(scores, larger_is_better=False).p == pytest.approx([1.0, 0.0], abs=0.001)


def test_equal_cells_are_all_best() -> None:
    (values,) = cells(8, 0.0)
    found = best(scores_of([values, values, values], np.arange(N)))
    assert found.p.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("n_clusters", "may_fall"), [(1, False), (5, False), (8, True)])
def test_few_clusters_exclude_no_cell(n_clusters: int, may_fall: bool) -> None:
    clusters = np.arange(N) % n_clusters
    found = best(scores_of(cells(10, 0.0, 3.0), clusters))
    assert (found.p[0] <= 0.05) == may_fall


def test_best_cells_without_samples_have_no_p_values() -> None:
    found = best(scores_of([np.zeros(0), np.zeros(0)], np.zeros(0, dtype=np.int64)))
    assert np.isnan(found.p).all()
    assert found.critical is None


@pytest.mark.parametrize("difference", [0.5, 0.7])
def test_equality_p_value_is_the_smallest_cell_p_value(difference: float) -> None:
    scores = scores_of(cells(11, 0.0, 0.0, difference), np.arange(N))
    found = best_cells(scores, larger_is_better=True, alpha=0.01, n_resamples=4000, seed=0)
    assert equal_cells_p_value(scores, n_resamples=4000, seed=0) == pytest.approx(found.p.min(), abs=1e-9)


def test_clearly_equal_cells_take_few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    n_made = []
    of_all = best_module.draw_signs
    monkeypatch.setattr(best_module, "draw_signs", lambda n, made, seed: n_made.append(made) or of_all(n, made, seed))
    assert equal_cells_p_value(scores_of(cells(12, 0.0, 0.0, 0.0), np.arange(N)), n_resamples=4000, seed=0) > 0.1
    assert set(n_made) == {199}


def test_stagewise_test_of_equal_cells_keeps_its_level() -> None:
    random = np.random.default_rng(13)
    n_sweeps, level = 150, 0.05
    sweeps = (scores_of(list(random.normal(size=(2, 20))), np.arange(20)) for _ in range(n_sweeps))
    n_false = sum(equal_cells_p_value(sweep, n_resamples=999, seed=0) <= level for sweep in sweeps)
    assert stats.binom.ppf(0.001, n_sweeps, level) <= n_false <= stats.binom.ppf(0.99, n_sweeps, level)


def test_cells_within_one_standard_error_are_near_the_first() -> None:
    scores = scores_of(cells(5, 0.1, 0.08, 0.05, 0.0, -0.3, 0.4), np.arange(N))
    others = PairedTest(n_resamples=99).compare(scores, 0.05)
    expected = [abs(one.difference or 0.0) <= (one.standard_error or 0.0) for one in others]
    assert within_standard_error(contributions(scores)).tolist() == [True, *expected]
    assert {True, False} == set(expected)


def test_cells_of_unknown_spread_are_near_only_if_equal() -> None:
    first, second = cells(6, 0.1, 0.1)
    scores = scores_of([first, second, first], np.zeros(N, np.int64))
    assert within_standard_error(contributions(scores)).tolist() == [True, False, True]
