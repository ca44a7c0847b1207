"""Weighted sums of the same cells (levels of an axis against each other, interactions), and their largest value by
chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.best import model_confidence_set
from components.statistics.contributions import Contributions
from components.statistics.power import critical_value
from components.statistics.resampling import TOLERANCE, draw_counts, draw_signs


@dataclass(frozen=True)
class DistanceMeasure:
    """A measure of distances from zero in standard errors.

    `sizes` float64[n] are the distances in the data, and `drawn` float64[n_draws, n] the distances in every resample.
    Multiplied by `unit`, float64[n], they are in standard errors of the contrasts.
    """

    sizes: NDArray[np.float64]
    drawn: NDArray[np.float64]
    unit: NDArray[np.float64]


@dataclass(frozen=True)
class Contrasts:
    """Contrasts with their standard errors, and the same contrasts in resamples.

    `values` and `errors` are float64[n]. `errors` have `df` degrees of freedom and are 0 for a contrast that is equal
    in every cluster. All contrasts share the resamples, with one or two `measures` (see `chance`); the more cautious
    one counts. No p is below its floor, float64[n] (`chance.floors`). Without `has_spread` (a stratum of a single
    cluster), the errors are meaningless.
    """

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    df: int
    n_clusters: int
    has_spread: bool
    measures: tuple[DistanceMeasure, ...]
    floors: NDArray[np.float64]

    def select(self, places: Sequence[int]) -> "Contrasts":
        """Return the contrasts at these indices."""
        at = np.asarray(places, dtype=np.int64)
        measures = tuple(
            DistanceMeasure(measure.sizes[at], measure.drawn[:, at], measure.unit[at]) for measure in self.measures
        )
        return Contrasts(
            self.values[at], self.errors[at], self.df, self.n_clusters, self.has_spread, measures, self.floors[at]
        )

    def p(self) -> NDArray[np.float64]:
        """Return p-values, float64[n]: how often the largest contrast by chance reaches each contrast.

        They are corrected for the number of contrasts, as in Westfall & Young 1993, "Resampling-Based Multiple Testing"
        (single-step maxT).
        """
        largest: NDArray[np.float64] = np.max(
            [self.floors, *(tail_share(measure.drawn.max(axis=1), measure.sizes) for measure in self.measures)], axis=0
        )
        return largest

    def tail(self) -> "Tail":
        """Return the distribution of the largest contrast by chance."""
        return Tail(tuple(np.sort((measure.drawn * measure.unit).max(axis=1)) for measure in self.measures), self.df)


@dataclass(frozen=True)
class Tail:
    """Largest of several contrasts by chance, in standard errors with `df` degrees of freedom.

    `largest` holds float64[n_draws] in increasing order, once per measure.
    """

    largest: tuple[NDArray[np.float64], ...]
    df: int

    def critical(self, level: float) -> float:
        """Return the value that a contrast must exceed for `Contrasts.p` to reach `level`; infinite if no contrast can.

        It is at least the critical value of Student's t for a single contrast.
        """
        n_draws = len(self.largest[0])
        n_beyond = int(level * (1 + n_draws) * (1 + TOLERANCE)) - 1  # draws that may be as extreme
        if n_beyond < 0 or not self.df:
            return float("inf")
        by_chance = max(float(draws[-1 - n_beyond]) for draws in self.largest)
        # A draw equal to the contrast counts as at least as far, so the contrast must exceed it.
        return max(by_chance, critical_value(self.df, level)) * (1 + TOLERANCE)


def tail_share(largest: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of draws, float64[n_draws], that are at least as far from zero as each size. The data count as a
    draw.
    """
    n_farther = len(largest) - np.searchsorted(np.sort(largest), sizes * (1 - TOLERANCE), side="left")
    shares: NDArray[np.float64] = (1 + n_farther) / (1 + len(largest))
    return shares


def contrasts(cells: Contributions, weights: NDArray[np.float64], n_draws: int, seed: int) -> Contrasts:
    """Return the contrasts of the cells' metrics with `weights`, float64[n_cells, n] with n > 0.

    The weights of a contrast add up to 0. The cells must have at least one cluster.
    """
    combined = cells.combine(weights)
    errors = chance.standard_errors(combined)
    as_one = np.divide(chance.errors_as_one_stratum(combined), errors, where=errors > 0.0, out=np.ones(len(errors)))
    swapped = chance.resample_signs(combined, draw_signs(combined.n_clusters, n_draws, seed))
    measures = [DistanceMeasure(chance.observed_sizes(combined), swapped, as_one)]
    if chance.can_be_studentized(combined):
        redrawn = chance.resample_clusters(combined, list(draw_counts(combined.n_clusters, n_draws, seed)))
        measures.append(DistanceMeasure(chance.distances(combined), redrawn, np.ones(len(errors))))
    floors = chance.floors(combined)
    return Contrasts(
        combined.values, errors, combined.df, combined.n_clusters, combined.has_spread, tuple(measures), floors
    )


def pairs(n_levels: int) -> list[tuple[int, int]]:
    """Return all pairs of levels, in the order in which `best_levels` expects their differences."""
    return list(combinations(range(n_levels), 2))


def best_levels(ahead: NDArray[np.float64], differences: Contrasts) -> NDArray[np.float64]:
    """Return the p-value of each level, float64[n_levels], for the test of `best_cells` applied to levels, for any
    alpha.

    `differences` are the differences of all `pairs` of the levels. `ahead` float64[n_levels] are the scores of the
    levels.
    """
    places = _pair_numbers(len(ahead))
    floors = np.append(differences.floors, 0.0)[places]
    return model_confidence_set(
        ahead, [_LevelDistances(measure, places) for measure in differences.measures], floors, None
    ).p


def _pair_numbers(n_levels: int) -> NDArray[np.int64]:
    """Return the index of each pair of levels in `pairs`, int64[n_levels, n_levels]; the number of pairs on the
    diagonal.
    """
    numbers = np.full((n_levels, n_levels), n_levels * (n_levels - 1) // 2)
    for number, (one, other) in enumerate(pairs(n_levels)):
        numbers[one, other] = numbers[other, one] = number
    return numbers


class _LevelDistances:
    """A measure of distances between levels, with zeros on the diagonal."""

    def __init__(self, measure: DistanceMeasure, places: NDArray[np.int64]) -> None:
        self._sizes = np.append(measure.sizes, 0.0)
        self._drawn = np.column_stack([measure.drawn, np.zeros(len(measure.drawn))])
        self._pair_number = places

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        sizes: NDArray[np.float64] = self._sizes[self._pair_number[cell, others]]
        return sizes

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        by_chance: NDArray[np.float64] = self._drawn[:, self._pair_number[cell, others]]
        return by_chance
