"""The cells that may be the best, if the same samples pick the best cell and test it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.resampling import TOLERANCE, draw_counts, draw_signs, resampled_sums

_STUDENTISED_BEYOND = 100
"""Expected number of resamples beyond the critical value: enough for p-values near alpha."""

_STAGES = (199, 999, 3_999)
_ENOUGH_BEYOND = 20
"""Number of resamples as extreme as the data beyond which more resamples no longer make p more precise."""


class BestCells(NamedTuple):
    """P-values of the cells, and the critical value for any difference between two of them.

    `p` float64[n_cells] is the probability that chance puts a truly best cell this far behind another cell; NaN without
    samples. `critical` is the difference between any two cells that chance exceeds only with probability alpha. It is
    in standard errors of that difference, and None if there are no samples.
    """

    p: NDArray[np.float64]
    critical: float | None


class BestMeasure(Protocol):
    """Sizes of differences between cells in standard errors, in the data and in resamples."""

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sizes of the differences between `others` and a cell, float64[n]."""
        ...

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same sizes in every resample, float64[n_resamples, n]."""
        ...


def best_cells(scores: SampleScores, *, larger_is_better: bool, alpha: float, n_resamples: int, seed: int) -> BestCells:
    """Test which cells may be the best. Cells with p at most alpha are not the best.

    The probability that this excludes any truly best cell is at most alpha, however many cells are equally good, and
    even though no cell was chosen beforehand.

    The test compares each cell's largest deficit with the largest difference between any two cells by chance. It draws
    that difference by sign changes and by a studentized bootstrap (see `chance`), and takes the larger p. Cells that
    are further behind than chance explains are set aside. The rest are tested again among themselves, until no more
    cells are set aside. If a stratum has a single cluster, standard errors are unknown, and sign changes alone decide.
    Source: the model confidence set of Hansen, Lunde & Nason 2011, Econometrica 79(2), with the statistic T_R. All
    cells that fail a round are set aside together, as in Romano & Wolf 2005, Econometrica 73(4).
    """
    cells = contributions(scores)
    if not scores.n_samples:
        return BestCells(np.full(len(cells.values), np.nan), None)
    ahead = cells.values if larger_is_better else -cells.values
    n_redrawn = min(n_resamples, int(_STUDENTISED_BEYOND / alpha))
    measures, bounded = _measures(cells, n_resamples, n_redrawn, seed), None
    if chance.can_be_skewed(cells) and np.isfinite(cells.reach):
        redraws = _Redraws(cells, n_redrawn, seed, chance.MIN_SPREAD)
        bounded = BoundedTest([measures[0], redraws], _range_floors(cells))
    return model_confidence_set(ahead, measures, _floors(cells), alpha, bounded)


def equal_cells_p_value(scores: SampleScores, *, n_resamples: int, seed: int) -> float:
    """Return the p-value of the hypothesis that all cells are equally good: the smallest p of `best_cells`. Requires
    samples.

    The test draws few resamples first, and more only if too few of them differ as much as the data. The p of each stage
    is valid. The last p can be small only if the p of all earlier stages is small, so it is valid as well. Source:
    Besag & Clifford 1991, "Sequential Monte Carlo p-values", Biometrika 78(2).
    """
    cells = contributions(scores)
    every = np.arange(len(cells.values))
    floors = _floors(cells)
    p = 1.0
    for n in (*(stage for stage in _STAGES if stage < n_resamples), n_resamples):
        measures = _measures(cells, n, n, seed)
        pair_p = [_p(_distances(measure, len(every)), _largest_by_chance(measure, every)) for measure in measures]
        p = float(np.max([floors, *pair_p], axis=0).min())
        if p * (1 + n) > _ENOUGH_BEYOND:
            break
    return p


def within_standard_error(cells: Contributions) -> NDArray[np.bool_]:
    """Return which cells differ from the first one by at most one standard error of the difference, bool[n_cells].

    Without samples, or if standard errors are unknown, these are the cells with the same metric as the first.
    Source: the 1 SE rule of Breiman, Friedman, Olshen & Stone 1984, "Classification and Regression Trees", section
    3.4.3, with the error of the paired difference.
    """
    differences = cells.subtract_cell(0, range(len(cells.values)))
    errors = chance.standard_errors(differences) if cells.has_spread else 0.0
    is_near: NDArray[np.bool_] = np.abs(differences.values) <= errors
    is_near[0] = True
    return is_near


def _measures(cells: Contributions, n_resamples: int, n_redrawn: int, seed: int) -> list[BestMeasure]:
    by_sign_changes = _SignChanges(cells, n_resamples, seed)
    if not chance.can_be_skewed(cells):
        return [by_sign_changes]
    return [by_sign_changes, _Redraws(cells, n_redrawn, seed)]


class BoundedTest(NamedTuple):
    """A second test for scores of a known range. Of both tests, the smaller p counts."""

    measures: Sequence[BestMeasure]
    floors: NDArray[np.float64]


def model_confidence_set(
    ahead: NDArray[np.float64],
    measures: Sequence[BestMeasure],
    floors: NDArray[np.float64],
    alpha: float | None,
    bounded: BoundedTest | None = None,
) -> BestCells:
    """Test which of the cells with the scores `ahead`, float64[n_cells], may be the best. See `best_cells`.

    `measures` are several measures of distance. The one with the larger p counts. `floors` float64[n_cells, n_cells]
    are the smallest possible p-values of any two cells.

    Without an alpha, each round sets aside the cells with the smallest p, down to the last cell. Each p is then valid
    for every alpha, the smallest p tests whether all cells are equally good, and `critical` is None.
    """
    n_cells = len(ahead)
    is_behind = ahead[np.newaxis, :] > ahead[:, np.newaxis]
    given = [BoundedTest(measures, floors), *([bounded] if bounded else [])]
    behind = {
        measure: np.where(is_behind, _distances(measure, n_cells), 0.0) for test in given for measure in test.measures
    }
    # The cells that are least behind are set aside last, so the resamples of the first round already cover them.
    last_first = np.argsort(np.min([gaps.max(axis=1) for gaps in behind.values()], axis=0), kind="stable")
    by_chance = {measure: _LargestByChance(measure, last_first) for measure in behind}
    tests = [_ConfidenceTest(each.floors, [(behind[one], by_chance[one]) for one in each.measures]) for each in given]
    p, least, critical, remaining = np.ones(n_cells), 0.0, None, np.arange(n_cells)
    while len(remaining):
        if alpha is not None and critical is None:  # the first round covers all cells, so it holds for any difference
            critical = min(test.critical(alpha) for test in tests)
        pair_p = np.min([test.p(remaining) for test in tests], axis=0)
        # With fewer cells left, chance explains less. A cell must not get a smaller p than cells set aside earlier.
        p[remaining] = np.maximum(least, pair_p.min(axis=1))
        falls = p[remaining] <= (p[remaining].min() if alpha is None else alpha)
        if not falls.any():
            break
        least = p[remaining][falls].max()
        remaining = remaining[~falls]
    return BestCells(p, critical)


class _ConfidenceTest(NamedTuple):
    """The largest p of several measures, each with the distances between cells, and of floors."""

    floors: NDArray[np.float64]
    measures: Sequence[tuple[NDArray[np.float64], "_LargestByChance"]]

    def critical(self, alpha: float) -> float:
        """Return the difference between any two cells that chance exceeds with probability `alpha`."""
        every = np.arange(len(self.floors))
        return max(float(np.quantile(sizes.among(every), 1 - alpha, method="higher")) for _, sizes in self.measures)

    def p(self, remaining: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the p of each pair of the remaining cells, float64[n_remaining, n_remaining]."""
        among = np.ix_(remaining, remaining)
        each = [_p(behind[among], sizes.among(remaining)) for behind, sizes in self.measures]
        largest: NDArray[np.float64] = np.max([self.floors[among], *each], axis=0)
        return largest


class _SignChanges:
    def __init__(self, cells: Contributions, n_resamples: int, seed: int) -> None:
        self._cells = cells
        both = np.hstack([cells.total, chance.weight_by_clusters(cells)])
        resampled = resampled_sums(draw_signs(cells.n_clusters, n_resamples, seed), both)
        self._sums, self._weighted_sums = np.hsplit(resampled, 2)

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.observed_sizes(self._cells.subtract_cell(cell, others))

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        differences = self._cells.subtract_cell(cell, others)
        sums, weighted_sums = (
            resampled[:, others] - resampled[:, [cell]] for resampled in (self._sums, self._weighted_sums)
        )
        return chance.standardize_sums(differences, sums, weighted_sums)


class _Redraws:
    def __init__(self, cells: Contributions, n_resamples: int, seed: int, min_spread: float = 0.0) -> None:
        self._cells = cells
        self._min_spread = min_spread
        self._draws = list(draw_counts(cells.n_clusters, n_resamples, seed))

    def sizes(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.distances(self._cells.subtract_cell(cell, others))

    def by_chance(self, cell: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return chance.resample_clusters(self._cells.subtract_cell(cell, others), self._draws, self._min_spread)


def _floors(cells: Contributions) -> NDArray[np.float64]:
    """Return the floors of all pairs of cells, float64[n_cells, n_cells].

    The floors of a cell against itself or an equal cell have no effect, because their distance is 0.
    """
    every = np.arange(len(cells.values))
    return np.array([chance.floors(cells.subtract_cell(cell, every)) for cell in range(len(every))])


def _range_floors(cells: Contributions) -> NDArray[np.float64]:
    """Return the floors of all pairs of cells by the range of the scores, float64[n_cells, n_cells].

    The more cells there are, the more probably one of them hides the other side of a skewed difference. So these floors
    are multiplied by the number of other cells.
    """
    every = np.arange(len(cells.values))
    floors = [chance.range_floors(cells.subtract_cell(cell, every), cells.reach) for cell in range(len(every))]
    return np.minimum(1.0, np.array(floors) * max(1, len(every) - 1))


def _distances(measure: BestMeasure, n_cells: int) -> NDArray[np.float64]:
    """Return the distances between all cells, float64[n_cells, n_cells]."""
    return np.array([measure.sizes(cell, np.arange(n_cells)) for cell in range(n_cells)])


class _LargestByChance:
    """The largest difference by chance between any two cells, as the set of cells shrinks.

    It is computed once for all pairs of cells, and cached for the first cell of `order`, its first two cells, and so
    on.
    """

    def __init__(self, measure: BestMeasure, order: NDArray[np.int64]) -> None:
        self._measure, self._order = measure, order
        self._of_first = _largest_differences(measure, order)

    def among(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest difference between these cells in each resample, float64[n_resamples]."""
        if np.array_equal(np.sort(self._order[: len(cells)]), np.sort(cells)):
            return self._of_first[len(cells) - 1]
        return _largest_differences(self._measure, cells)[-1]


def _largest_by_chance(measure: BestMeasure, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest difference between any two of the cells in each resample, float64[n_resamples]."""
    return _largest_differences(measure, cells)[-1]


def _largest_differences(measure: BestMeasure, cells: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Return the largest difference between any two of the first cell, the first two cells, and so on, in each
    resample: float64[n_resamples] each.
    """
    # Cell by cell, because an array of all pairs in all resamples would not fit into memory for large grids.
    largest = [measure.by_chance(int(cells[0]), cells[:1]).max(axis=1)]
    for index in range(1, len(cells)):
        largest.append(np.maximum(largest[-1], measure.by_chance(int(cells[index]), cells[:index]).max(axis=1)))
    return largest


def _p(worst: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of resamples that reach each of the sizes. The data count as one of the resamples."""
    rarest_first = np.sort(largest)
    n_as_far = len(largest) - np.searchsorted(rarest_first, worst * (1 - TOLERANCE), side="left")
    p: NDArray[np.float64] = (1 + n_as_far) / (1 + len(largest))
    return p
