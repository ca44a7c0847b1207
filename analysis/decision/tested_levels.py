"""Tests of the levels of each axis of a scenario against each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.decision.design import LevelDesign, level_design
from analysis.decision.scenario_scores import ScoredCells
from components.statistics import (
    PairedTest,
    RightOrWrong,
    SampleScores,
    Tail,
    best_levels,
    contrasts,
    minimum_detectable_difference,
    pairs,
    right_or_wrong,
)
from runner.results import CONDITION

_SEED = 0
_ROUNDING = 1e-12


@dataclass(frozen=True)
class TestedLevels:
    """An axis in a scenario, with the test of its levels.

    `means` and `p` are float64[n_levels]; `p` is None if the levels were not tested. `is_same` is true if the levels
    are equal in every group of samples, and `cancels` if they nevertheless differ in single samples. `error` is the
    largest standard error of a difference between two levels, NaN if unknown, and `right_or_wrong` describes this
    difference for scores that are 0 or 1. `tail` is the distribution of the largest difference by chance.
    """

    scored: ScoredCells
    design: LevelDesign
    means: NDArray[np.float64]
    p: NDArray[np.float64] | None = None
    is_same: bool = False
    cancels: bool = False
    error: float = 0.0
    right_or_wrong: RightOrWrong | None = None
    tail: Tail | None = None
    smallest_p: float = 0.0

    @property
    def equality_p_value(self) -> float:
        """Return the p-value of the hypothesis that all levels are equally good; NaN without a test.

        NaN for levels that never differ: they are not counted in the correction.
        """
        return float("nan") if self.p is None or self.is_same else float(self.p.min())

    def detectable(self, level: float) -> float | None:
        """Return the smallest detectable difference of two levels, from the pair with the largest standard error."""
        if self.tail is None or not self.error > 0.0 or self.smallest_p > level:
            return None
        critical = self.tail.critical(level)
        if not np.isfinite(critical):
            return None
        size = minimum_detectable_difference(
            self.error, self.tail.df, critical=critical, right_or_wrong=self.right_or_wrong
        )
        return size if np.isfinite(size) else None


def make_designs(scored: ScoredCells) -> list[LevelDesign]:
    """Return a design for each axis with comparable levels. The noise rate of given passages is left out: it is
    a condition of the test, not a choice.
    """
    axes = [axis for axis in scored.axes if axis != CONDITION]
    return [design for axis in axes if (design := level_design(axis, scored.levels))]


def tested_levels(scored: ScoredCells, designs: Sequence[LevelDesign], n_draws: int) -> Iterator[TestedLevels]:
    """Yield all axes of a scenario, tested by the same resamples, because drawing them takes most of the time."""
    cells = scored.contributions
    if not scored.has_enough_samples or not designs:
        yield from (TestedLevels(scored, design, cells.values @ design.weights) for design in designs)
        return
    weights = [pairwise_weights(design.weights) for design in designs]
    estimates = contrasts(cells, np.hstack(weights), n_draws, _SEED)
    test = PairedTest(n_resamples=n_draws)
    first = 0
    for design, level_weights in zip(designs, weights, strict=True):
        differences = estimates.select(range(first, first + level_weights.shape[1]))
        first += level_weights.shape[1]
        means = cells.values @ design.weights
        p = best_levels(scored.orient(means), differences)
        is_same = not (differences.values.any() or differences.errors.any())
        cancels = is_same and bool((np.abs(_by_sample(scored.scores, level_weights)) > _ROUNDING).any())
        error = float(differences.errors.max()) if estimates.has_spread else float("nan")
        (known_worst,) = right_or_wrong(scored.scores, level_weights[:, [int(differences.errors.argmax())]])
        smallest_p = test.smallest_p(cells.n_clusters, cells.n_effective, is_right_or_wrong=known_worst is not None)
        yield TestedLevels(
            scored, design, means, p, is_same, cancels, error, known_worst, differences.tail(), smallest_p
        )


def _by_sample(scores: SampleScores, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted sums of the cells' scores, float64[n_samples, d, n_weights]."""
    sums: NDArray[np.float64] = np.einsum("scd,cw->sdw", scores.statistics, weights)
    return sums


def pairwise_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of cells in the differences of all pairs of levels, float64[n_cells, n_pairs]."""
    return np.column_stack([weights[:, b] - weights[:, a] for a, b in pairs(weights.shape[1])])
