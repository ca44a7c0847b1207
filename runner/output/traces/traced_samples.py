"""Chooses the cells and the samples that get traces: the same samples in all cells, for comparison one by one."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.records import ScoreState
from runner.output.standings import RankedCells
from runner.results import OK, CellResult, larger_is_better, read_samples

_MAX_TIED_CELLS = 2
_GROUPS = ("subset", "topic", "task")
_NO_ANSWER = {ScoreState.ANSWER_ERROR.value, ScoreState.FAILED.value}


def traced_cells(standings: RankedCells, baseline_id: str) -> list[CellResult]:
    """Return the cell to take, the baseline, and up to two more cells that may be the best. Failed cells are left out.

    Tied cells with a distinct value of the headline metric come first: two cells with equal values differ less.
    """
    if not standings.metrics:
        return []
    successful = [cell for cell in standings.ordered if cell.status == OK]
    first = standings.best or successful[0]
    chosen = [first, *(cell for cell in successful if cell.cell_id == baseline_id != first.cell_id)]
    chosen_ids = {cell.cell_id for cell in chosen}
    tied = [cell for cell in standings.tied if cell.cell_id not in chosen_ids]
    seen = {cell.value(standings.metrics[0]) for cell in chosen}
    fresh: list[CellResult] = []
    for cell in tied:
        if (value := cell.value(standings.metrics[0])) not in seen:
            seen.add(value)
            fresh.append(cell)
    return [*chosen, *[*fresh, *(cell for cell in tied if cell not in fresh)][:_MAX_TIED_CELLS]]


def chosen_samples(cells: Sequence[CellResult], sweep_dir: Path, metrics: Sequence[str], n: int | None) -> list[str]:
    """Return the ids of at most `n` samples (None: all) that all cells have, in the order of the data set.

    Half of the samples are representative: spread evenly over subsets, topics and tasks. A quarter have the worst
    values in the first cell, samples without an answer first. In a quarter, the cells differ most. Both quarters use
    the first of `metrics` that has a better direction and values for single samples. Without such a metric, or with too
    few values, more samples are representative. Raises DataError if a cell's samples cannot be read.
    """
    metric = _metric_of_samples(cells, sweep_dir, metrics)
    columns = ["id", *_GROUPS, *([f"score/{metric}", f"score_state/{metric}"] if metric else [])]
    first, *others = ({row["id"]: row for row in read_samples(sweep_dir / cell.cell_id, columns)} for cell in cells)
    shared = [an_id for an_id in first if all(an_id in rows for rows in others)]
    if n is None or n >= len(shared):
        return shared
    chosen: set[str] = set()
    if metric:
        sign = 1.0 if larger_is_better(metric, cells) else -1.0
        values = np.array([[_value(rows[an_id], metric, sign) for rows in (first, *others)] for an_id in shared])
        chosen |= {shared[index] for index in _sort_indices(values[:, 0])[: n // 4]}
        distance = _measure_spread(values)
        distance[[an_id in chosen for an_id in shared]] = np.nan
        chosen |= {shared[index] for index in _sort_indices(-distance)[: n // 4]}
    chosen |= set(_spread_evenly([row for an_id, row in first.items() if an_id in {*shared} - chosen], n - len(chosen)))
    return [an_id for an_id in shared if an_id in chosen]


def _metric_of_samples(cells: Sequence[CellResult], sweep_dir: Path, metrics: Sequence[str]) -> str:
    """Return the first metric with values for single samples, or "". BLEU, for example, is a metric of a corpus."""
    for metric in metrics:
        if larger_is_better(metric, cells) is not None and all(cell.value(metric) is not None for cell in cells):
            rows = read_samples(sweep_dir / cells[0].cell_id, [f"score/{metric}"])
            if any(row[f"score/{metric}"] is not None for row in rows):
                return metric
    return ""


def _value(row: Json, metric: str, sign: float) -> float:
    """Return a value, the larger the better: -inf for a sample without an answer, NaN if the metric does not apply."""
    value = row[f"score/{metric}"]
    if value is None:
        return -np.inf if row[f"score_state/{metric}"] in _NO_ANSWER else np.nan
    return sign * float(value)


def _sort_indices(values: NDArray[np.float64]) -> list[int]:
    """Return the indices of the values, smallest value first. NaN is left out."""
    return [int(index) for index in np.argsort(values, kind="stable") if not np.isnan(values[index])]


def _measure_spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest difference between cells, float64[n_samples]; NaN if the cells do not differ."""
    finite = np.where(np.isfinite(values), values, np.nan)
    enough = np.isfinite(finite).sum(axis=1) > 1
    spread = np.full(len(finite), np.nan)
    spread[enough] = np.nanmax(finite[enough], axis=1) - np.nanmin(finite[enough], axis=1)
    return np.where(spread > 0.0, spread, np.nan)


def _spread_evenly(rows: Sequence[Json], n: int) -> list[str]:
    """Return the ids of `n` samples, with a share for each group. Within a group, a hash of the id decides."""
    ordered = sorted(rows, key=lambda row: ([row[name] or "" for name in _GROUPS], sha256(row["id"].encode()).digest()))
    return [ordered[(2 * i + 1) * len(ordered) // (2 * n)]["id"] for i in range(min(n, len(ordered)))]
