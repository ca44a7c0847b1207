"""Tests of many contrasts together. Error rates of recommendations are tested in tests/analysis/decision."""

import numpy as np
import pytest
from scipy import stats

from components.statistics import (
    PairedTest,
    best_cells,
    best_levels,
    contrasts,
    contributions,
    critical_range,
    pairs,
)
from tests.statistics.cells import scores_of

N = 60


def values(seed: int, *means: float, n: int = N) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    hard = random.normal(size=n)
    return [hard + random.normal(mean, 0.5, n) for mean in means]


def weights(n_cells: int) -> np.ndarray:
    """Return the weights of all pairs of cells, with one cell per level."""
    found = np.zeros((n_cells, len(pairs(n_cells))))
    for place, (a, b) in enumerate(pairs(n_cells)):
        found[a, place], found[b, place] = -1.0, 1.0
    return found


def test_single_contrast_equals_the_paired_test() -> None:
    scores = scores_of(values(1, 0.0, 0.1), np.arange(N))
    (expected,) = PairedTest(n_resamples=999).compare(scores, 0.05)
    found = contrasts(contributions(scores), np.array([[-1.0], [1.0]]), 999, 0)
    assert found.values[0] == pytest.approx(expected.difference)
    assert found.errors[0] == pytest.approx(expected.standard_error)
    assert found.p()[0] == pytest.approx(expected.p)
    assert found.tail().critical(0.05) == pytest.approx(expected.critical)


def test_levels_of_one_cell_each_equal_the_best_cells() -> None:
    scores = scores_of(values(2, 0.3, 0.2, 0.0, -0.4), np.arange(N))
    expected = best_cells(scores, larger_is_better=True, alpha=0.05, n_resamples=1999, seed=0)
    found = contributions(scores)
    p = best_levels(found.values, contrasts(found, weights(4), 1999, 0))
    assert ((p <= 0.05) == (expected.p <= 0.05)).all()
    assert p.min() == pytest.approx(expected.p.min())
    assert p.max() == 1.0


def test_contrast_p_value_and_critical_value_agree() -> None:
    """A contrast exceeds the critical value of a level exactly if its p is at most the level."""
    scores = scores_of(values(3, 0.12, 0.05, 0.0), np.arange(N))
    found = contrasts(contributions(scores), weights(3), 999, 0)
    for level in (0.4, 0.2, 0.1, 0.05, 0.02):
        is_beyond = np.abs(found.values) > found.tail().critical(level) * found.errors
        assert (is_beyond == (found.p() <= level)).all()
    assert found.tail().critical(1 / 1001) == np.inf


def test_critical_value_of_normal_differences_equals_tukeys() -> None:
    scores = scores_of(values(4, *[0.0] * 6, n=400), np.arange(400))
    critical = contrasts(contributions(scores), weights(6), 4999, 0).tail().critical(0.05)
    assert critical == pytest.approx(critical_range(6, 399, 0.05), rel=0.05)


def test_intervals_of_all_pairs_cover_simultaneously() -> None:
    """Forty groups of unequal size, four equally good levels: scipy's normal critical value alone holds too rarely."""
    random = np.random.default_rng(5)
    sizes = np.clip(np.ceil(random.pareto(1.5, 40)), 1, 12).astype(int)
    clusters = np.repeat(np.arange(40), sizes)
    n_sweeps, missed, missed_alone = 200, 0, 0
    for _ in range(n_sweeps):
        noise = random.normal(size=(40, 4))[clusters] + random.normal(size=(len(clusters), 4))
        found = contrasts(contributions(scores_of(list(noise.T), clusters)), weights(4), 499, 0)
        distances = np.abs(found.values) / found.errors
        missed += bool(distances.max() > found.tail().critical(0.05))
        missed_alone += bool(distances.max() > stats.norm.ppf(0.975))
    most = stats.binom.ppf(0.99, n_sweeps, 0.05)
    assert missed <= most < missed_alone


def test_equal_levels_are_all_best() -> None:
    (one,) = values(6, 0.0)
    found = contributions(scores_of([one, one, one], np.arange(N)))
    differences = contrasts(found, weights(3), 99, 0)
    assert best_levels(found.values, differences).tolist() == [1.0, 1.0, 1.0]
    assert differences.errors.tolist() == [0.0, 0.0, 0.0]
