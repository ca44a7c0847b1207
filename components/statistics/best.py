"""Which cells may be the best, when the same samples pick the best and test it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.resampling import TOLERANCE, counts, resampled_sums, swaps

_MOST_STUDENTISED = 2_000
"""Resamples of all pairs of cells: their p-values are compared with alpha itself, so that these are enough."""


class BestCells(NamedTuple):
    """`p` float64[n_cells]: how often chance alone would make a truly best cell fall this far behind another one; NaN
    without samples. `critical` is the difference between any two of the cells, in standard errors of that difference,
    that chance exceeds only with probability alpha; None without samples.
    """

    p: NDArray[np.float64]
    critical: float | None


class Measure(Protocol):
    """Sizes of differences between cells in standard errors, and what chance makes of them."""

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of the differences between `others` and a cell, float64[n]."""
        ...

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same in every resample, float64[n_resamples, n]."""
        ...


def best_cells(scores: SampleScores, *, larger_is_better: bool, alpha: float, n_resamples: int, seed: int) -> BestCells:
    """Cells with p at most alpha are not the best. The probability that any truly best cell is among them is at most
    alpha, however many cells are equally good, and although none was named beforehand.

    Each cell's largest deficit against any other is compared with the largest difference that chance makes between any
    two cells, by sign changes and by a studentised bootstrap (see `chance`); the larger p counts. Cells that are
    further behind than chance explains are set aside, and the rest are tested again among themselves, until no more
    are. Where a stratum has a single cluster there is no standard error, and sign changes decide alone.
    Source: the model confidence set of Hansen, Lunde & Nason 2011, Econometrica 79(2), with the statistic T_R; all
    cells that fail a round are set aside at once, as in Romano & Wolf 2005, Econometrica 73(4).
    """
    found = contributions(scores)
    n_cells = len(found.values)
    if not scores.n_samples:
        return BestCells(np.full(n_cells, np.nan), None)
    measures: list[Measure] = [_BySignChanges(found, n_resamples, seed)]
    if chance.can_be_studentised(found):
        measures.append(_ByRedrawing(found, min(n_resamples, _MOST_STUDENTISED), seed))
    ahead = found.values if larger_is_better else -found.values
    return may_be_best(ahead, measures, alpha)


def may_be_best(ahead: NDArray[np.float64], measures: Sequence[Measure], alpha: float | None) -> BestCells:
    """Of cells that lie so far `ahead`, float64[n_cells], by distances that are measured in several ways, of which the
    one with the larger p counts.

    Without an alpha the cells with the smallest p are set aside in each round, down to the last: p is then right for
    every alpha, and the smallest one answers whether all cells are equally good. There is no `critical` then.
    """
    n_cells = len(ahead)
    is_behind = ahead[np.newaxis, :] > ahead[:, np.newaxis]
    behind = [np.where(is_behind, _distances(measure, n_cells), 0.0) for measure in measures]
    p, least, critical, left = np.ones(n_cells), 0.0, None, np.arange(n_cells)
    while len(left):
        largest = [_largest_by_chance(measure, left) for measure in measures]
        if (
            alpha is not None and critical is None
        ):  # that of the first round, over all cells: what a reader may apply to any difference
            critical = max(float(np.quantile(own, 1 - alpha, method="higher")) for own in largest)
        worst = [own[np.ix_(left, left)].max(axis=1) for own in behind]
        # With fewer cells left, chance explains less. A cell that outlasts others must not get a smaller p than theirs.
        p[left] = np.max([np.full(len(left), least), *map(_p, worst, largest)], axis=0)
        falls = p[left] <= (p[left].min() if alpha is None else alpha)
        if not falls.any():
            break
        least = p[left][falls].max()
        left = left[~falls]
    return BestCells(p, critical)


class _BySignChanges:
    def __init__(self, found: Contributions, n_resamples: int, seed: int) -> None:
        self._found = found
        both = np.hstack([found.total, chance.weighted(found)])
        drawn = resampled_sums(swaps(found.n_clusters, n_resamples, seed), both)
        self._sums, self._weighted_sums = np.hsplit(drawn, 2)

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.without_sign_changes(self._found.against(cell, others))

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        differences = self._found.against(cell, others)
        sums, weighted_sums = (drawn[:, others] - drawn[:, [cell]] for drawn in (self._sums, self._weighted_sums))
        return chance.in_standard_errors(differences, sums, weighted_sums)


class _ByRedrawing:
    def __init__(self, found: Contributions, n_resamples: int, seed: int) -> None:
        self._found = found
        self._draws = list(counts(found.n_clusters, n_resamples, seed))
        self._swaps = list(swaps(found.n_clusters, n_resamples, seed))

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.distances(self._found.against(cell, others))

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.after_redrawing(self._found.against(cell, others), self._draws, self._swaps)


def _distances(measure: Measure, n_cells: int) -> NDArray[np.float64]:
    """Of all cells from each other, float64[n_cells, n_cells]."""
    return np.array([measure.sizes(cell, np.arange(n_cells)) for cell in range(n_cells)])


def _largest_by_chance(measure: Measure, left: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest difference between any two of the cells in each resample, float64[n_resamples]."""
    # Cell by cell, because an array of all pairs in all resamples would not fit into memory for large grids.
    largest: NDArray[np.float64] = measure.by_chance(int(left[0]), left[:1]).max(axis=1)
    for place in range(1, len(left)):
        largest = np.maximum(largest, measure.by_chance(int(left[place]), left[:place]).max(axis=1))
    return largest


def _p(worst: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often chance reaches each of the sizes, the data themselves counted as one of the resamples."""
    rarest_first = np.sort(largest)
    n_as_far = len(largest) - np.searchsorted(rarest_first, worst * (1 - TOLERANCE), side="left")
    p: NDArray[np.float64] = (1 + n_as_far) / (1 + len(largest))
    return p
