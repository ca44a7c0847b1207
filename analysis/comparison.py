"""Comparison of all cells of a sweep with one of them, on the samples that all of them have."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError
from components.statistics import (
    POWER,
    Comparison,
    PairedTest,
    RightOrWrong,
    SampleScores,
    best_cells,
    contributions,
    holm,
    minimum_detectable_difference,
    right_or_wrong,
    times_as_many,
    within_standard_error,
)
from runner.console.display import detectable_text, estimate
from runner.console.styled_text import join_names
from runner.results import (
    BEST,
    NO_BEST,
    OK,
    CellResult,
    CommonSamples,
    LoadedSweep,
    SubsetMetric,
    common_samples,
    equal_groups,
    format_level,
    scores_of,
    varying_axes,
)

_DIGITS = 12
"""Decimals to which means are rounded. Differences beyond are rounding errors."""

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
        """Return the value of an axis; for several cells their values, e.g. "2, 8"."""
        return ", ".join(dict.fromkeys(format_level(cell.axes.get(axis)) for cell in self.cells))


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

    With a named baseline (`is_picked` False), "better" and "worse" follow Holm's correction over all cells: the
    probability of any wrong verdict is at most alpha. After a search by scores, "all cells" are those of its space,
    because it could have tried each of them. With the best cell as baseline, picked by the same samples,
    "worse" means that a cell is not the best, by `best_cells`. The probability that any truly best cell is called
    "worse" is at most alpha. `left_out_differ` is True if own means are over other samples than the comparison.
    """

    sweep: LoadedSweep
    metric: SubsetMetric
    baseline: Standing
    is_picked: bool
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

        A cell that does not differ in a large group can be worse nevertheless.
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
        return varying_axes(self.sweep.cells)


def compare_cells(
    sweep: LoadedSweep, metric: SubsetMetric, test: PairedTest, *, baseline: str = "", alpha: float = 0.05
) -> Family:
    """Compare the cells that did not fail with `baseline` (see `LoadedSweep.cell`). If that is "" or "best", compare
    them with the best cell by this metric.

    Raises DataError if fewer than two cells have a value, if the baseline has no value, if the cells share no sample,
    or if the metric has no better direction.
    """
    metric.direction()
    if baseline in ("", BEST):
        sweep.require_grid(NO_BEST)
    sound = [cell for cell in sweep.cells if cell.status == OK]
    valued = [cell for cell in sound if metric.value(cell) is not None]
    named = sweep.cell(baseline) if baseline not in ("", BEST) else None
    if named and named not in valued:
        why = f"it is {named.status}" if named.status != OK else f"it has no value of {metric}"
        raise DataError(f"--baseline {baseline}: {named.cell_id} cannot be the baseline: {why}")
    if len(valued) < 2:
        raise DataError(
            f"{sweep.name}: {len(valued)} of {len(sweep.cells)} cells have a value of {metric}; a comparison needs two"
        )
    first = named or max(valued, key=lambda cell: int(cell.metrics[metric.subset][metric.metric]["n"]))
    others = [cell for cell in valued if cell is not first]
    joined = common_samples([first, *others], sweep.folder_of, metric.metric, metric.subset)
    if len(joined.cells) < 2:
        raise DataError(f"{sweep.name}: no two cells have a value of {metric} for the same sample")
    table = _Table(*_order_cells(joined, metric, named))
    family = Family(
        sweep=sweep,
        metric=metric,
        baseline=table.standings[0],
        is_picked=named is None,
        alpha=alpha,
        test=test,
        rows=(),
        n=joined.n,
        n_known=joined.n_known,
        n_clusters=len(np.unique(joined.clusters)),
        n_effective=0.0,
        left_out_differ=joined.left_out_differ,
        failed=sweep.failed,
        without_value=tuple(cell for cell in sound if cell not in valued),
        apart=joined.apart,
    )
    if len(table.standings) == 1:
        return replace(family, n_effective=contributions(table.scores).n_effective)
    rows = _rows(family, table)
    return replace(family, rows=rows, n_effective=rows[0].comparison.n_effective)


class _Table(NamedTuple):
    """Standings and their scores, both with the baseline first, then best first. No two have identical scores."""

    standings: list[Standing]
    scores: SampleScores


def _order_cells(
    joined: CommonSamples, metric: SubsetMetric, named: CellResult | None
) -> tuple[list[Standing], SampleScores]:
    means = joined.means().round(_DIGITS)
    groups = equal_groups(joined, larger_is_better=metric.direction(), first=named)
    standings = [_standing(joined, metric, places, float(means[places[0]])) for places in groups]
    return standings, scores_of(joined, groups)


def _standing(joined: CommonSamples, metric: SubsetMetric, columns: Sequence[int], mean: float) -> Standing:
    cell, *same = (joined.cells[column] for column in columns)
    own_mean = metric.value(cell)
    assert own_mean is not None, "cells without a value are listed apart"
    return Standing(cell, tuple(same), mean, own_mean, joined.n_own(columns[0]), joined.left_out[columns[0]])


class _Correction(NamedTuple):
    """Adjusted p-values of all rows, the strictest level that a p-value must meet, and the critical value at that
    level, in standard errors. If `critical` is None, each row has its critical value.
    """

    p: NDArray[np.float64]
    level: float
    critical: float | None


def _rows(family: Family, table: _Table) -> tuple[ComparisonRow, ...]:
    n_rows = len(table.standings) - 1
    n_corrected = n_rows + family.n_corrected
    comparisons = family.test.compare(table.scores, family.alpha / (n_rows if family.is_picked else n_corrected))
    correction = (
        _correct_against_best(family, table.scores)
        if family.is_picked
        else _Correction(holm([_number(one.p) for one in comparisons], n_corrected), family.alpha / n_corrected, None)
    )
    against_first = right_or_wrong(table.scores, np.vstack([np.full(n_rows, -1.0), np.eye(n_rows)]))
    rows = []
    are_near = within_standard_error(contributions(table.scores))[1:].tolist()
    for standing, comparison, p, scores, is_near in zip(
        table.standings[1:], comparisons, correction.p.tolist(), against_first, are_near, strict=True
    ):
        verdict = _verdict(family, comparison, is_shown=p <= family.alpha)
        detectable = _detectable(comparison, family.test, correction, scores)
        can_tell = p > family.alpha and detectable is not None
        n_needed = _n_needed(comparison, correction) if can_tell else None
        rows.append(ComparisonRow(standing, comparison, p, verdict, detectable, n_needed, is_near))
    return tuple(rows)


def _number(value: float | None) -> float:
    assert value is not None, "the cells have samples in common"
    return value


def _correct_against_best(family: Family, scores: SampleScores) -> _Correction:
    confidence_set = best_cells(
        scores,
        larger_is_better=family.metric.direction(),
        alpha=family.alpha,
        n_resamples=family.test.n_resamples,
        seed=family.test.seed,
    )
    return _Correction(confidence_set.p[1:], family.alpha, confidence_set.critical)


def _verdict(family: Family, comparison: Comparison, *, is_shown: bool) -> str:
    if not is_shown:
        return MAY_BE_BEST if family.is_picked else UNDECIDED
    return BETTER if (_number(comparison.difference) > 0) == family.metric.direction() else WORSE


def _detectable(
    comparison: Comparison, test: PairedTest, correction: _Correction, scores: RightOrWrong | None
) -> float | None:
    error = comparison.standard_error
    # No difference is significant if even the most extreme data would not reach the level.
    smallest_p = test.smallest_p(comparison.n_clusters, comparison.n_effective, is_right_or_wrong=scores is not None)
    if not error or smallest_p > correction.level:
        return None
    critical = correction.critical if correction.critical is not None else comparison.critical
    if critical is None or not np.isfinite(critical):
        return None
    size = minimum_detectable_difference(error, comparison.df, critical=critical, right_or_wrong=scores)
    return size if np.isfinite(size) else None


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


def _n_needed(comparison: Comparison, correction: _Correction) -> int | None:
    critical = correction.critical if correction.critical is not None else comparison.critical
    return samples_needed(comparison, comparison.difference, critical)


def samples_needed(comparison: Comparison, difference: float | None, critical: float | None) -> int | None:
    """Return the samples with which the test would find a true difference, rounded up.

    None if the test has enough, if the spread is unknown, or for no difference. A difference is significant if it
    exceeds `critical` standard errors.
    """
    error = comparison.standard_error
    if not error or not difference or critical is None or not math.isfinite(critical):
        return None
    times = times_as_many(abs(difference), error, comparison.df, critical=critical)
    return math.ceil(comparison.n * times) if times > 1 else None


def as_record(family: Family) -> dict[str, object]:
    """Return the family as plain JSON values."""
    return {
        "sweep": family.sweep.folder.name,
        "metric": family.metric.metric,
        "subset": family.metric.subset,
        "larger_is_better": family.metric.larger_is_better,
        "n": family.n,
        "n_of_all_cells": family.n_known,
        "n_clusters": family.n_clusters,
        "n_effective_clusters": family.n_effective,
        "left_out_differ": family.left_out_differ,
        "baseline_is_the_best_found": family.is_picked,
        "baseline": _standing_record(family.baseline),
        "alpha": family.alpha,
        "power": POWER,
        "correction": CORRECTIONS[family.is_picked],
        "searches": [dict(search) for search in family.sweep.searches],
        **asdict(family.test),
        "cells": [_row_record(row) for row in family.rows],
        "not_distinguishable": [row.standing.cell.cell_id for row in family.not_distinguishable],
        "failed": {cell.cell_id: cell.reason for cell in family.failed},
        "stopped": {cell.cell_id: cell.reason for cell in family.sweep.stopped},
        "without_value": [cell.cell_id for cell in family.without_value],
        "without_common_sample": [cell.cell_id for cell in family.apart],
    }


def _standing_record(standing: Standing) -> dict[str, object]:
    return {
        "cell_id": standing.cell.cell_id,
        "same": [cell.cell_id for cell in standing.same],
        "axes": dict(standing.cell.axes),
        "mean": standing.mean,
        "own_mean": standing.own_mean,
        "n_own": standing.n_own,
        "n_left_out": dict(standing.left_out),
    }


def _row_record(row: ComparisonRow) -> dict[str, object]:
    comparison = row.comparison
    return {
        **_standing_record(row.standing),
        "difference": comparison.difference,
        "ci_low": comparison.low,
        "ci_high": comparison.high,
        "p": comparison.p,
        "p_adjusted": row.p_adjusted,
        "verdict": row.verdict,
        "n": comparison.n,
        "n_clusters": comparison.n_clusters,
        "standard_error": comparison.standard_error,
        "detectable_difference": row.detectable,
        "n_needed": row.n_needed,
    }


def as_table(family: Family) -> list[dict[str, object]]:
    """Return one flat row per cell but the baseline, including cells with identical values. Varying axes are columns
    "axis/<name>", and left-out samples are a string such as "3 answer_error, 1 failed".
    """
    axes = family.axes()
    rows = []
    for row in family.rows:
        record = _row_record(row)
        for name in ("cell_id", "same", "axes"):
            del record[name]
        record["n_left_out"] = exclusion_text(row.standing.left_out)
        rows += [
            {"cell_id": cell.cell_id, **{f"axis/{name}": cell.axes.get(name) for name in axes}, **record}
            for cell in row.standing.cells
        ]
    return rows


def exclusion_text(left_out: Mapping[str, int]) -> str:
    """Format the counts, e.g. "3 answer_error, 1 not in this cell"; "" if nothing is left out."""
    return ", ".join(f"{n} {reason}" for reason, n in sorted(Counter(left_out).items()))
