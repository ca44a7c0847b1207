"""Which cells may be the best, when the same samples pick the best and test it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.resampling import TOLERANCE, counts, resampled_sums, swaps

_STUDENTISED_BEYOND = 100
"""Resamples of all pairs of cells that chance puts beyond the critical value: enough for p-values near alpha."""

_STAGES = (199, 999, 3_999)
_ENOUGH_BEYOND = 20
"""Resamples that differ as much as the data: where so many do, more resamples would tell p no better."""


class BestCells(NamedTuple):
    """`p` float64[n_cells]: how often chance alone would make a truly best cell fall this far behind another one; NaN
    without samples. `critical` is the difference between any two of the cells, in standard errors of that difference,
    that chance exceeds only with probability alpha; None without samples.
    """

    p: NDArray[np.float64]
    critical: float | None


class BestMeasure(Protocol):
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
    if not scores.n_samples:
        return BestCells(np.full(len(found.values), np.nan), None)
    ahead = found.values if larger_is_better else -found.values
    n_redrawn = min(n_resamples, int(_STUDENTISED_BEYOND / alpha))
    return may_be_best(ahead, _measures(found, n_resamples, n_redrawn, seed), _floors(found), alpha)


def p_of_equality(scores: SampleScores, *, n_resamples: int, seed: int) -> float:
    """How often chance makes equally good cells differ as much as these do in the largest difference between any two:
    the smallest p of `best_cells`. Expected: samples.

    Few resamples are made first, and more only where too few of them differ as much as the data. The p of each stage is
    valid, and for the last one to be small those of all stages before it have to be, so that it is valid as well.
    Source: Besag & Clifford 1991, "Sequential Monte Carlo p-values", Biometrika 78(2).
    """
    found = contributions(scores)
    every = np.arange(len(found.values))
    floors = _floors(found)
    p = 1.0
    for n in (*(stage for stage in _STAGES if stage < n_resamples), n_resamples):
        measures = _measures(found, n, n, seed)
        of_pairs = [_p(_distances(measure, len(every)), _largest_by_chance(measure, every)) for measure in measures]
        p = float(np.max([floors, *of_pairs], axis=0).min())
        if p * (1 + n) > _ENOUGH_BEYOND:
            break
    return p


def _measures(found: Contributions, n_resamples: int, n_redrawn: int, seed: int) -> list[BestMeasure]:
    by_sign_changes = _BySignChanges(found, n_resamples, seed)
    if not chance.can_be_studentised(found):
        return [by_sign_changes]
    return [by_sign_changes, _ByRedrawing(found, n_redrawn, seed)]


def may_be_best(
    ahead: NDArray[np.float64], measures: Sequence[BestMeasure], floors: NDArray[np.float64], alpha: float | None
) -> BestCells:
    """Of cells that lie so far `ahead`, float64[n_cells], by distances that are measured in several ways, of which the
    one with the larger p counts. `floors` float64[n_cells, n_cells] are the smallest p-values of any two of them.

    Without an alpha the cells with the smallest p are set aside in each round, down to the last: p is then right for
    every alpha, and the smallest one answers whether all cells are equally good. There is no `critical` then.
    """
    n_cells = len(ahead)
    is_behind = ahead[np.newaxis, :] > ahead[:, np.newaxis]
    behind = [np.where(is_behind, _distances(measure, n_cells), 0.0) for measure in measures]
    # Those that are least behind are set aside last: of these, what chance makes is then known from the first round.
    last_first = np.argsort(np.min([own.max(axis=1) for own in behind], axis=0), kind="stable")
    by_chance = [_LargestByChance(measure, last_first) for measure in measures]
    p, least, critical, left = np.ones(n_cells), 0.0, None, np.arange(n_cells)
    while len(left):
        largest = [own.of(left) for own in by_chance]
        if (
            alpha is not None and critical is None
        ):  # that of the first round, over all cells: what a reader may apply to any difference
            critical = max(float(np.quantile(own, 1 - alpha, method="higher")) for own in largest)
        among = np.ix_(left, left)
        of_pairs = np.max(
            [floors[among], *(_p(own[among], by) for own, by in zip(behind, largest, strict=True))], axis=0
        )
        # With fewer cells left, chance explains less. A cell that outlasts others must not get a smaller p than theirs.
        p[left] = np.maximum(least, of_pairs.min(axis=1))
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

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.distances(self._found.against(cell, others))

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.after_redrawing(self._found.against(cell, others), self._draws)


def _floors(found: Contributions) -> NDArray[np.float64]:
    """Of all cells against each other, float64[n_cells, n_cells]; those of a cell against itself, and of equal cells,
    matter to nobody: their distance is 0.
    """
    every = np.arange(len(found.values))
    return np.array([chance.floors(found.against(cell, every)) for cell in range(len(every))])


def _distances(measure: BestMeasure, n_cells: int) -> NDArray[np.float64]:
    """Of all cells from each other, float64[n_cells, n_cells]."""
    return np.array([measure.sizes(cell, np.arange(n_cells)) for cell in range(n_cells)])


class _LargestByChance:
    """The largest difference that chance makes between any two of fewer and fewer cells. It is made for all pairs of
    cells once, and kept for the first ones of `order` alone, the first two of them, and so on.
    """

    def __init__(self, measure: BestMeasure, order: NDArray[np.int64]) -> None:
        self._measure, self._order = measure, order
        self._of_first = _largest_of_first(measure, order)

    def of(self, left: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of these cells in each resample, float64[n_resamples]."""
        if np.array_equal(np.sort(self._order[: len(left)]), np.sort(left)):
            return self._of_first[len(left) - 1]
        return _largest_of_first(self._measure, left)[-1]


def _largest_by_chance(measure: BestMeasure, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest difference between any two of the cells in each resample, float64[n_resamples]."""
    return _largest_of_first(measure, cells)[-1]


def _largest_of_first(measure: BestMeasure, cells: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """The largest difference between any two of the first cell, the first two cells, and so on, in each resample:
    float64[n_resamples] each.
    """
    # Cell by cell, because an array of all pairs in all resamples would not fit into memory for large grids.
    largest = [measure.by_chance(int(cells[0]), cells[:1]).max(axis=1)]
    for place in range(1, len(cells)):
        largest.append(np.maximum(largest[-1], measure.by_chance(int(cells[place]), cells[:place]).max(axis=1)))
    return largest


def _p(worst: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often chance reaches each of the sizes, the data themselves counted as one of the resamples."""
    rarest_first = np.sort(largest)
    n_as_far = len(largest) - np.searchsorted(rarest_first, worst * (1 - TOLERANCE), side="left")
    p: NDArray[np.float64] = (1 + n_as_far) / (1 + len(largest))
    return p
