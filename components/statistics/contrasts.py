"""Several weighted sums of the same cells at once (levels of an axis against each other, interactions), and what chance
makes of the largest of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.best import may_be_best
from components.statistics.contributions import Contributions
from components.statistics.power import critical_value
from components.statistics.resampling import TOLERANCE, counts, swaps


@dataclass(frozen=True)
class Way:
    """One of the ways to measure distances from zero in standard errors: `sizes` float64[n], and `drawn`
    float64[n_draws, n] in every resample; times `unit`, float64[n], they are in standard errors of the contrasts.
    """

    sizes: NDArray[np.float64]
    drawn: NDArray[np.float64]
    unit: NDArray[np.float64]


@dataclass(frozen=True)
class Contrasts:
    """`values` float64[n], their standard errors (with `df` degrees of freedom, 0 where a contrast is the same in every
    cluster), and what chance makes of all of them in the same resamples, in one or two `ways` (see `chance`), of which
    the one that finds less counts.

    No p is below its floor, float64[n] (`chance.floors`). Without `has_spread` (a stratum of a single cluster) errors
    say nothing.
    """

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    df: int
    n_clusters: int
    has_spread: bool
    ways: tuple[Way, ...]
    floors: NDArray[np.float64]

    def only(self, places: Sequence[int]) -> "Contrasts":
        """Some of them."""
        at = np.asarray(places, dtype=np.int64)
        ways = tuple(Way(way.sizes[at], way.drawn[:, at], way.unit[at]) for way in self.ways)
        return Contrasts(
            self.values[at], self.errors[at], self.df, self.n_clusters, self.has_spread, ways, self.floors[at]
        )

    def p(self) -> NDArray[np.float64]:
        """How often the largest of all that chance makes reaches each of them, float64[n]: corrected for their number,
        as in Westfall & Young 1993, "Resampling-Based Multiple Testing" (single-step maxT).
        """
        largest: NDArray[np.float64] = np.max(
            [self.floors, *(share_as_far(way.drawn.max(axis=1), way.sizes) for way in self.ways)], axis=0
        )
        return largest

    def tail(self) -> "Tail":
        """The far end of what chance makes of the largest of them."""
        return Tail(tuple(np.sort((way.drawn * way.unit).max(axis=1)) for way in self.ways), self.df)


@dataclass(frozen=True)
class Tail:
    """What chance makes of the largest of several contrasts, in standard errors with `df` degrees of freedom: float64
    [n_draws], the smallest first, measured in one or two ways.
    """

    largest: tuple[NDArray[np.float64], ...]
    df: int

    def critical(self, level: float) -> float:
        """What any contrast must exceed for `Contrasts.p` to reach `level`, at least what a single one must by
        Student's t. Infinite where none can.
        """
        n_draws = len(self.largest[0])
        n_beyond = int(level * (1 + n_draws) * (1 + TOLERANCE)) - 1  # draws that may lie as far out
        if n_beyond < 0 or not self.df:
            return float("inf")
        by_chance = max(float(own[-1 - n_beyond]) for own in self.largest)
        # A draw that is reached exactly counts as farther, so that it has to be exceeded.
        return max(by_chance, critical_value(self.df, level)) * (1 + TOLERANCE)


def share_as_far(largest: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of what chance makes, float64[n_draws], the share that is at least as far from zero as each of the sizes, the
    data themselves counted as one of the draws.
    """
    n_farther = len(largest) - np.searchsorted(np.sort(largest), sizes * (1 - TOLERANCE), side="left")
    shares: NDArray[np.float64] = (1 + n_farther) / (1 + len(largest))
    return shares


def contrasts(cells: Contributions, weights: NDArray[np.float64], n_draws: int, seed: int) -> Contrasts:
    """Of sums of the cells' metrics, each cell times its weight: float64[n_cells, n] with n > 0. Weights of a contrast
    add up to 0. Of cells without a cluster nothing can be said: expected at least one.
    """
    found = cells.combined(weights)
    errors = chance.standard_errors(found)
    as_one = np.divide(chance.errors_as_one_stratum(found), errors, where=errors > 0.0, out=np.ones(len(errors)))
    swapped = chance.after_sign_changes(found, swaps(found.n_clusters, n_draws, seed))
    ways = [Way(chance.without_sign_changes(found), swapped, as_one)]
    if chance.can_be_studentised(found):
        redrawn = chance.after_redrawing(found, list(counts(found.n_clusters, n_draws, seed)))
        ways.append(Way(chance.distances(found), redrawn, np.ones(len(errors))))
    floors = chance.floors(found)
    return Contrasts(found.values, errors, found.df, found.n_clusters, found.has_spread, tuple(ways), floors)


def pairs(n_levels: int) -> list[tuple[int, int]]:
    """All pairs of levels, in the order in which `best_levels` wants their differences."""
    return list(combinations(range(n_levels), 2))


def best_levels(ahead: NDArray[np.float64], differences: Contrasts) -> NDArray[np.float64]:
    """Which levels may be the best, as `best_cells` says of cells: float64[n_levels], the p of each, for any alpha.
    `differences` are those of all `pairs` of the levels, that lie so far `ahead`, float64[n_levels].
    """
    places = _places_of_pairs(len(ahead))
    floors = np.append(differences.floors, 0.0)[places]
    return may_be_best(ahead, [_BetweenLevels(way, places) for way in differences.ways], floors, None).p


def _places_of_pairs(n_levels: int) -> NDArray[np.int64]:
    """Of any two levels their place among `pairs`, int64[n_levels, n_levels]; the number of pairs on the diagonal."""
    found = np.full((n_levels, n_levels), n_levels * (n_levels - 1) // 2)
    for place, (one, other) in enumerate(pairs(n_levels)):
        found[one, other] = found[other, one] = place
    return found


class _BetweenLevels:
    """A way to measure distances of levels, with zeros on the diagonal."""

    def __init__(self, way: Way, places: NDArray[np.int64]) -> None:
        self._sizes = np.append(way.sizes, 0.0)
        self._drawn = np.column_stack([way.drawn, np.zeros(len(way.drawn))])
        self._place = places

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        sizes: NDArray[np.float64] = self._sizes[self._place[cell, others]]
        return sizes

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn: NDArray[np.float64] = self._drawn[:, self._place[cell, others]]
        return drawn
