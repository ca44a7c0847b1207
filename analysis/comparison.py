"""All cells of a sweep against one of them, on the same samples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis import samples
from analysis.statistics import (
    Comparison,
    PairedTest,
    SampleScores,
    best_cells,
    critical_value,
    holm,
    minimum_detectable_difference,
)
from components.errors import DataError
from runner.loaded import LoadedSweep, SubsetMetric, find_cell, varying_axes
from runner.results import OK, CellResult

POWER = 0.8
"""The probability with which a difference of the size called detectable is found."""

CORRECTIONS = {True: "largest difference between any two cells", False: "Holm"}
"""How p-values are adjusted: with the best cell as baseline (True), and with a named one (False)."""

BETTER, WORSE, UNDECIDED, NOT_COMPARED = "better", "worse", "undecided", "no common sample"


@dataclass(frozen=True)
class Row:
    """A cell against the baseline. `mean` is the cell's own, over all of its samples that have a value.

    `p_adjusted` is corrected for the size of the family; None without a test. `detectable` is the true difference that
    would have been found with probability `POWER` at the family's strictest level; None if the paired differences do
    not vary, or if there are too few clusters for any p-value at that level.
    """

    cell: CellResult
    mean: float
    comparison: Comparison
    p_adjusted: float | None
    verdict: str
    detectable: float | None
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Family:
    """The comparisons of one table: every cell but the baseline, best first.

    With a named baseline (`is_picked` False), "better" and "worse" follow Holm's correction over all cells that could
    be tested: the probability that any cell is wrongly called so is at most alpha. With the best cell as baseline,
    picked by the same samples, "worse" means that a cell is not the best, by `best_cells`: the probability that this is
    said of any truly best cell is at most alpha.
    """

    sweep: LoadedSweep
    metric: SubsetMetric
    baseline: CellResult
    is_picked: bool
    alpha: float
    test: PairedTest
    rows: tuple[Row, ...]
    failed: tuple[CellResult, ...]
    without_value: tuple[CellResult, ...]

    @property
    def not_distinguishable(self) -> list[Row]:
        """Rows that were tested without a decision."""
        return [row for row in self.rows if row.verdict == UNDECIDED]

    def axes(self) -> list[str]:
        """Those that tell the cells of the sweep apart."""
        return varying_axes(self.sweep.cells)


def compare_cells(
    sweep: LoadedSweep, metric: SubsetMetric, test: PairedTest, *, baseline: str = "", alpha: float = 0.05
) -> Family:
    """Compares the cells that did not fail with `baseline` (see `find_cell`), or with the best of them if it is "".

    Raises DataError if fewer than two cells have a value, if the baseline has none, if no sample has one, or if neither
    larger nor smaller values are better.
    """
    sign = 1 if metric.direction() else -1
    sound = [cell for cell in sweep.cells if cell.status == OK]
    means = {cell.cell_id: value for cell in sound if (value := metric.value(cell)) is not None}
    chosen = find_cell(baseline, sweep.cells) if baseline else None
    if chosen and chosen.cell_id not in means:
        why = f"it is {chosen.status}" if chosen.status != OK else f"it has no value of {metric}"
        raise DataError(f"--baseline {baseline}: {chosen.cell_id} cannot be compared with: {why}")
    if len(means) < 2:
        raise DataError(f"{sweep.folder}: {len(means)} cell(s) with a value of {metric}, wanted two to compare")
    ordered = sorted((cell for cell in sound if cell.cell_id in means), key=lambda cell: -sign * means[cell.cell_id])
    chosen = chosen or ordered[0]
    others = [cell for cell in ordered if cell is not chosen]
    return Family(
        sweep=sweep,
        metric=metric,
        baseline=chosen,
        is_picked=not baseline,
        alpha=alpha,
        test=test,
        rows=_rows(sweep, metric, chosen, others, test, alpha, is_picked=not baseline),
        failed=tuple(cell for cell in sweep.cells if cell.status != OK),
        without_value=tuple(cell for cell in sound if cell.cell_id not in means),
    )


def _rows(
    sweep: LoadedSweep,
    metric: SubsetMetric,
    baseline: CellResult,
    others: Sequence[CellResult],
    test: PairedTest,
    alpha: float,
    *,
    is_picked: bool,
) -> tuple[Row, ...]:
    joined = samples.join(sweep.folder, metric, baseline, others)
    comparisons = test.compare(joined.scores)
    if is_picked:
        family = _among_the_best(joined.scores, metric, test, alpha)
    else:
        family = _against_the_baseline(comparisons, alpha)
    rows = []
    for place, (cell, comparison, left_out) in enumerate(zip(others, comparisons, joined.left_out, strict=True)):
        mean = metric.value(cell)
        assert mean is not None, "cells without a value are listed apart"
        p = float(family.p[place])
        verdict = _verdict(comparison, is_shown=p <= alpha, is_picked=is_picked, larger_is_better=metric.direction())
        detectable = _detectable(comparison, test, family)
        rows.append(Row(cell, mean, comparison, None if np.isnan(p) else p, verdict, detectable, left_out))
    return tuple(rows)


class _Correction(NamedTuple):
    """Adjusted p-values of all rows, NaN without a test; the strictest level that a p-value has to meet; and what a
    difference must exceed at that level, in standard errors (None: it depends on the number of its clusters).
    """

    p: NDArray[np.float64]
    level: float
    critical: float | None


def _among_the_best(scores: SampleScores, metric: SubsetMetric, test: PairedTest, alpha: float) -> _Correction:
    found = best_cells(
        scores,
        larger_is_better=metric.direction(),
        alpha=alpha,
        n_resamples=test.n_resamples,
        seed=test.seed,
    )
    return _Correction(found.p[1:], alpha, found.critical)


def _against_the_baseline(comparisons: Sequence[Comparison], alpha: float) -> _Correction:
    p = holm([np.nan if comparison.p is None else comparison.p for comparison in comparisons])
    return _Correction(p, alpha / max(int((~np.isnan(p)).sum()), 1), None)


def _verdict(comparison: Comparison, *, is_shown: bool, is_picked: bool, larger_is_better: bool) -> str:
    if comparison.difference is None:
        return NOT_COMPARED
    if not is_shown:
        return UNDECIDED
    # Whatever the sign of its difference on the common samples, no cell can be better than the best.
    return BETTER if not is_picked and (comparison.difference > 0) == larger_is_better else WORSE


def _detectable(comparison: Comparison, test: PairedTest, family: _Correction) -> float | None:
    error, n_clusters = comparison.standard_error, comparison.n_clusters
    # No difference can be shown if even the most extreme data would not reach the level.
    if not error or test.smallest_p(n_clusters) > family.level:
        return None
    critical = family.critical or critical_value(n_clusters, family.level)
    return minimum_detectable_difference(error, n_clusters, critical=critical, power=POWER)


def as_record(family: Family) -> dict[str, Any]:
    """The family as plain JSON values."""
    return {
        "sweep": family.sweep.folder.name,
        "metric": family.metric.metric,
        "subset": family.metric.subset,
        "larger_is_better": family.metric.larger_is_better,
        "baseline": family.baseline.cell_id,
        "baseline_mean": family.metric.value(family.baseline),
        "baseline_is_the_best_found": family.is_picked,
        "alpha": family.alpha,
        "power": POWER,
        "correction": CORRECTIONS[family.is_picked],
        **asdict(family.test),
        "cells": [_row_record(row) for row in family.rows],
        "not_distinguishable": [row.cell.cell_id for row in family.not_distinguishable],
        "failed": {cell.cell_id: cell.reason for cell in family.failed},
        "without_value": [cell.cell_id for cell in family.without_value],
    }


def _row_record(row: Row) -> dict[str, Any]:
    found = row.comparison
    return {
        "cell_id": row.cell.cell_id,
        "axes": dict(row.cell.axes),
        "mean": row.mean,
        "difference": found.difference,
        "ci_low": found.low,
        "ci_high": found.high,
        "p": found.p,
        "p_adjusted": row.p_adjusted,
        "verdict": row.verdict,
        "n": found.n,
        "n_clusters": found.n_clusters,
        "n_left_out": dict(row.left_out),
        "standard_error": found.standard_error,
        "detectable_difference": row.detectable,
    }


def as_table(family: Family) -> list[dict[str, Any]]:
    """One flat row per cell, the axes that vary as "axis/<name>"; left-out samples as "3 answer_error, 1 failed"."""
    axes = family.axes()
    rows = []
    for row in family.rows:
        record = _row_record(row)
        record["n_left_out"] = why_left_out(row.left_out)
        own = record.pop("axes")
        rows.append({"cell_id": record.pop("cell_id"), **{f"axis/{name}": own.get(name) for name in axes}, **record})
    return rows


def why_left_out(left_out: Mapping[str, int]) -> str:
    """E.g. "3 answer_error, 1 not in this cell"; empty if nothing is left out."""
    return ", ".join(f"{n} {reason}" for reason, n in sorted(left_out.items()))
