"""All cells of a sweep against one of them, on the same samples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis import samples
from analysis.statistics import Comparison, PairedTest, holm, minimum_detectable_difference
from analysis.sweeps import SubsetMetric, Sweep, find_cell, varying_axes
from components.errors import DataError
from runner.results import OK, CellResult, combiner

POWER = 0.8
"""Chance that a difference of the size that is called detectable is found."""

BETTER, WORSE, UNDECIDED, NOT_COMPARED = "better", "worse", "undecided", "no common sample"


@dataclass(frozen=True)
class Row:
    """A cell against the baseline. `mean` is the cell's own, over all of its samples that have a value.

    `p_holm` is None where there is no test. `detectable` is the true difference that would have been found with
    probability `POWER` at the family's strictest level, alpha over the number of comparisons; None where the paired
    differences do not vary, or where the clusters are too few for any p-value at that level.
    """

    cell: CellResult
    mean: float
    comparison: Comparison
    p_holm: float | None
    verdict: str
    detectable: float | None
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Family:
    """The comparisons of one table: every cell but the baseline, best first. The family of Holm's correction is all of
    them that could be tested.

    With a baseline that was named (`is_picked` False), the chance that any cell is called better or worse although it
    is not is at most alpha. With the best cell as baseline, picked by the same samples, the cells not called worse hold
    the truly best one with a chance of at least 1 - alpha. "worse" then says of each cell that it is not the best; of
    many equally good ones, the chance that it says so of at least one is above alpha.
    """

    sweep: Sweep
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
        """Rows that were tested and not decided."""
        return [row for row in self.rows if row.verdict == UNDECIDED]

    def axes(self) -> list[str]:
        """Those that tell the cells of the sweep apart."""
        return varying_axes(self.sweep.cells)


def compare_cells(
    sweep: Sweep, metric: SubsetMetric, test: PairedTest, *, baseline: str = "", alpha: float = 0.05
) -> Family:
    """Compares the cells that did not fail with `baseline` (see `find_cell`), or with the best of them if it is "".

    Raises DataError if fewer than two cells have a value, if the baseline has none, or if no sample has one.
    """
    sound = [cell for cell in sweep.cells if cell.status == OK]
    means = {cell.cell_id: value for cell in sound if (value := metric.value(cell)) is not None}
    chosen = find_cell(baseline, sweep.cells) if baseline else None
    if chosen and chosen.cell_id not in means:
        why = f"it is {chosen.status}" if chosen.status != OK else f"it has no value of {metric}"
        raise DataError(f"--baseline {baseline}: {chosen.cell_id} cannot be compared with: {why}")
    if len(means) < 2:
        raise DataError(f"{sweep.folder}: {len(means)} cell(s) with a value of {metric}, wanted two to compare")
    sign = 1 if metric.larger_is_better else -1
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
        rows=_rows(sweep, metric, chosen, others, test, alpha),
        failed=tuple(cell for cell in sweep.cells if cell.status != OK),
        without_value=tuple(cell for cell in sound if cell.cell_id not in means),
    )


def _rows(
    sweep: Sweep,
    metric: SubsetMetric,
    baseline: CellResult,
    others: Sequence[CellResult],
    test: PairedTest,
    alpha: float,
) -> tuple[Row, ...]:
    comparisons, left_out_of_cells = _compared(sweep, metric, baseline, others, test)
    p_holm = holm([np.nan if comparison.p is None else comparison.p for comparison in comparisons])
    n_tested = int((~np.isnan(p_holm)).sum())
    rows = []
    for cell, comparison, p, left_out in zip(others, comparisons, p_holm.tolist(), left_out_of_cells, strict=True):
        mean = metric.value(cell)
        assert mean is not None, "cells without a value are listed apart"
        verdict = _verdict(comparison, is_shown=p <= alpha, larger_is_better=metric.larger_is_better)
        p_or_none = None if np.isnan(p) else p
        detectable = _detectable(comparison, test, alpha / max(n_tested, 1))
        rows.append(Row(cell, mean, comparison, p_or_none, verdict, detectable, left_out))
    return tuple(rows)


def _compared(
    sweep: Sweep, metric: SubsetMetric, baseline: CellResult, others: Sequence[CellResult], test: PairedTest
) -> tuple[list[Comparison], Sequence[Mapping[str, int]]]:
    """A comparison of every cell, and what was left out of it."""
    if not samples.is_of_a_corpus(sweep.folder, metric, baseline):
        joined = samples.join(sweep.folder, metric, baseline, others)
        return test.compare(joined.values, joined.baseline, joined.clusters), joined.left_out
    combine = combiner(baseline, metric.metric)
    pairs = samples.join_statistics(sweep.folder, metric, baseline, others)
    return [test.compare_corpus(pair.cell, pair.baseline, pair.clusters, combine) for pair in pairs], [
        pair.left_out for pair in pairs
    ]


def _verdict(comparison: Comparison, *, is_shown: bool, larger_is_better: bool) -> str:
    if comparison.difference is None:
        return NOT_COMPARED
    if not is_shown:
        return UNDECIDED
    return BETTER if (comparison.difference > 0) == larger_is_better else WORSE


def _detectable(comparison: Comparison, test: PairedTest, alpha: float) -> float | None:
    if not comparison.standard_error or test.smallest_p(comparison.n_clusters) > alpha:
        return None
    return minimum_detectable_difference(comparison.standard_error, comparison.n_clusters, alpha=alpha, power=POWER)


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
        "p_holm": row.p_holm,
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
