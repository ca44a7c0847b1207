"""Comparisons of the cells of a sweep with one of them: the rows of one table."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from components.statistics import Comparison, PairedTest
from runner.console.display import detectable_text, estimate
from runner.console.styled_text import join_names
from runner.results import CellResult, LoadedSweep, SubsetMetric, join_levels, shown_axes

CORRECTIONS = {True: "largest difference between any two cells", False: "Holm"}
"""Correction of the p-values: with the best cell as baseline (True), and with a named baseline (False)."""

BETTER, WORSE, UNDECIDED, MAY_BE_BEST = "better", "worse", "undecided", "may be the best"
"""Verdicts. UNDECIDED applies to a named baseline. MAY_BE_BEST is the same outcome against the best cell."""


@dataclass(frozen=True)
class Standing:
    """A cell, and the cells with identical values in every sample. `mean` is over the samples that all compared cells
    have, `own_mean` over the `n_own` samples for which this cell has a value. `left_out` counts the other samples by
    reason.
    """

    cell: CellResult
    same: tuple[CellResult, ...]
    mean: float
    own_mean: float
    n_own: int
    left_out: Mapping[str, int]

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """All cells of this row."""
        return self.cell, *self.same

    def level(self, axis: str) -> str:
        """Return the value of an axis; for several cells their values (see `join_levels`)."""
        return join_levels(self.cells, axis)


@dataclass(frozen=True)
class ComparisonRow:
    """A cell compared with the baseline, over the samples that all cells have.

    `p_adjusted` is corrected for the size of the family. `detectable` is the true difference that this test finds with
    probability `POWER`. It is None if the paired differences do not vary, if their spread is unknown, or if there are
    too few clusters for a p-value at that level. `n_needed` estimates the number of samples with which the test would
    find the observed difference with the same probability. It is None if the cell already differs significantly, and
    if `detectable` is None or the observed difference is 0. `is_near` is True within one standard error of the
    baseline.
    """

    standing: Standing
    comparison: Comparison
    p_adjusted: float
    verdict: str
    detectable: float | None
    n_needed: int | None
    is_near: bool

    @property
    def is_decided(self) -> bool:
        """True if the cell differs significantly from the baseline."""
        return self.verdict in (BETTER, WORSE)


@dataclass(frozen=True)
class Family:
    """The comparisons of one table: every cell but the baseline, best first. They use the `n` samples of `n_known` for
    which all cells have a value, in `n_clusters` clusters, worth `n_effective` of equal size.

    With a named baseline (`baseline_is_best` False), "better" and "worse" follow Holm's correction over all cells: the
    probability of any wrong verdict is at most alpha. After a search by scores, "all cells" means every cell of its
    space, because it could have tried each. With the best cell as baseline, picked by the same samples, "worse" means
    that a cell is not the best, by `best_cells`. The probability that any truly best cell is called "worse" is at most
    alpha. `left_out_differ` is True if own means do not cover the same samples as the comparison. `bounds` are upper
    bounds, which take no part in the search for the best cell.
    """

    sweep: LoadedSweep
    metric: SubsetMetric
    baseline: Standing
    baseline_is_best: bool
    alpha: float
    test: PairedTest
    rows: tuple[ComparisonRow, ...]
    n: int
    n_known: int
    n_clusters: int
    n_effective: float
    left_out_differ: bool
    failed: tuple[CellResult, ...]
    without_value: tuple[CellResult, ...]
    bounds: tuple[CellResult, ...]
    apart: tuple[CellResult, ...]

    @property
    def n_corrected(self) -> int:
        """Number of comparisons with a named baseline that Holm's correction counts, including cells that a search by
        scores could have tried.
        """
        return len(self.rows) + self.sweep.n_candidates - len(self.sweep.cells)

    @property
    def not_distinguishable(self) -> list[ComparisonRow]:
        """Rows without a significant difference."""
        return [row for row in self.rows if not row.is_decided]

    @property
    def has_too_few_groups(self) -> bool:
        """True if cells differ, but the groups are too few to detect a difference of any size.

        A cell that equals the baseline in one large group can still be worse.
        """
        if not self.rows or any(row.is_decided or row.detectable is not None for row in self.rows):
            return False
        return self.n_clusters == 1 or any(row.comparison.standard_error for row in self.rows)

    @property
    def standings(self) -> list[Standing]:
        """All standings, the baseline first."""
        return [self.baseline, *(row.standing for row in self.rows)]

    def standings_by_own_mean(self) -> list[Standing]:
        """Return all standings, best first by the means over each cell's samples."""
        sign = 1 if self.metric.direction() else -1
        return sorted(self.standings, key=lambda standing: -sign * standing.own_mean)

    def standings_by_mean(self) -> list[Standing]:
        """Return all standings, best first."""
        sign = 1 if self.metric.direction() else -1
        return sorted(self.standings, key=lambda standing: -sign * standing.mean)

    def axes(self) -> list[str]:
        """Return the axes that vary in the sweep."""
        return shown_axes(self.sweep.cells)


def detectable_range(family: Family) -> list[str]:
    """Return the smallest and the largest detectable difference of the table, e.g. ["0.3", "more than 1"], or one
    number if they are equal; [] if they are unknown.
    """
    sizes = [row.detectable for row in family.rows if row.detectable is not None]
    if not sizes:
        return []
    means = [standing.mean for standing in family.standings]
    return list(dict.fromkeys(detectable_text(size, means) for size in (min(sizes), max(sizes))))


def needed_range(family: Family) -> str:
    """Return the number of samples that would distinguish the undecided cells at their observed differences, as "about
    850" or "about 850 to 6,200"; "" if no number can be computed.
    """
    numbers = [row.n_needed for row in family.not_distinguishable if row.n_needed is not None]
    if not numbers:
        return ""
    return f"about {join_names(dict.fromkeys(estimate(n) for n in (min(numbers), max(numbers))), 'to')}"


def exclusion_text(left_out: Mapping[str, int]) -> str:
    """Format the counts, e.g. "3 answer_error, 1 not in this cell"; "" if nothing is left out."""
    return ", ".join(f"{n} {reason}" for reason, n in sorted(Counter(left_out).items()))
