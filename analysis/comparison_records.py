"""Comparisons as plain values, for JSON and CSV files."""

from dataclasses import asdict

from analysis.comparison_family import CORRECTIONS, ComparisonRow, Family, Standing, exclusion_text
from components.statistics import POWER
from runner.results import CellResult

SAME_VALUES = "same values"


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
        "baseline_is_the_best_found": family.baseline_is_best,
        "baseline": _standing_record(family.baseline),
        "alpha": family.alpha,
        "power": POWER,
        "correction": CORRECTIONS[family.baseline_is_best],
        "searches": [dict(search) for search in family.sweep.searches],
        **asdict(family.test),
        "cells": [_row_record(row) for row in family.rows],
        "not_distinguishable": [row.standing.cell.cell_id for row in family.not_distinguishable],
        "failed": {cell.cell_id: cell.reason for cell in family.failed},
        "stopped": {cell.cell_id: cell.reason for cell in family.sweep.stopped},
        "without_value": [cell.cell_id for cell in family.without_value],
        "upper_bounds": [cell.cell_id for cell in family.bounds],
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
    return {**_standing_record(row.standing), **_test_record(row)}


def _test_record(row: ComparisonRow | None, verdict: str = "") -> dict[str, object]:
    """Return a row's test, or an empty one with a verdict for the baseline and cells with its values."""
    comparison = row and row.comparison
    return {
        "difference": comparison.difference if comparison else 0.0,
        "ci_low": comparison and comparison.low,
        "ci_high": comparison and comparison.high,
        "p": comparison and comparison.p,
        "p_adjusted": row and row.p_adjusted,
        "verdict": row.verdict if row else verdict,
        "n": comparison and comparison.n,
        "n_clusters": comparison and comparison.n_clusters,
        "standard_error": comparison and comparison.standard_error,
        "detectable_difference": row and row.detectable,
        "n_needed": row and row.n_needed,
    }


def as_table(family: Family) -> list[dict[str, object]]:
    """Return one flat row per cell that does not have the baseline's values. Varying axes are columns "axis/<name>",
    and left-out samples are a string such as "3 answer_error, 1 failed".
    """
    rows = ((row.standing, _test_record(row)) for row in family.rows)
    return [_flat_row(family, cell, standing, test) for standing, test in rows for cell in standing.cells]


def baseline_rows(family: Family) -> list[dict[str, object]]:
    """Return flat rows of the baseline, and of the cells with its values."""
    first, *same = family.baseline.cells
    verdict = "best" if family.baseline_is_best else "baseline"
    rows = [(first, verdict), *((cell, SAME_VALUES) for cell in same)]
    return [_flat_row(family, cell, family.baseline, _test_record(None, verdict)) for cell, verdict in rows]


def _flat_row(family: Family, cell: CellResult, standing: Standing, test: dict[str, object]) -> dict[str, object]:
    return {
        "cell_id": cell.cell_id,
        **{f"axis/{name}": cell.axes.get(name) for name in family.axes()},
        "mean": standing.mean,
        "own_mean": standing.own_mean,
        "n_own": standing.n_own,
        "n_left_out": exclusion_text(standing.left_out),
        **test,
    }
