"""Which cells have traces, and of which samples: the same in all of them, so that they can be compared one by one."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.records import ScoreState
from runner.output.standings import Standings
from runner.results import OK, CellResult, larger_is_better, read_samples

_MOST_TIED = 2
_GROUPS = ("subset", "topic", "task")
_NO_ANSWER = {ScoreState.ANSWER_ERROR.value, ScoreState.FAILED.value}


def traced_cells(standings: Standings, baseline_id: str) -> list[CellResult]:
    """The cell to take, the baseline, and up to two more that may be the best as well, of those that did not fail.

    Of tied cells, those come first whose value of the headline metric is no other's: of two that are equal in it there
    is less to see.
    """
    if not standings.metrics:
        return []
    sound = [cell for cell in standings.ordered if cell.status == OK]
    first = standings.best or sound[0]
    chosen = [first, *(cell for cell in sound if cell.cell_id == baseline_id != first.cell_id)]
    tied = [cell for cell in standings.tied if cell.cell_id not in {own.cell_id for own in chosen}]
    seen = {cell.value(standings.metrics[0]) for cell in chosen}
    fresh: list[CellResult] = []
    for cell in tied:
        if (value := cell.value(standings.metrics[0])) not in seen:
            seen.add(value)
            fresh.append(cell)
    return [*chosen, *[*fresh, *(cell for cell in tied if cell not in fresh)][:_MOST_TIED]]


def chosen_samples(cells: Sequence[CellResult], sweep_dir: Path, metrics: Sequence[str], n: int | None) -> list[str]:
    """Ids of at most `n` samples that all cells have, in the order of the data set; None for all of them.

    Half of them stand for all: spread evenly over subsets, topics and tasks. A quarter are those with which the first
    cell does worst, before all others those without an answer, and a quarter those in which the cells differ most: by
    the first of `metrics` that tells better from worse and has a value for single samples. Without one, and where too
    few samples have values, more of them stand for all. Raises DataError.
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
        chosen |= {shared[place] for place in _smallest(values[:, 0])[: n // 4]}
        distance = _spread(values)
        distance[[an_id in chosen for an_id in shared]] = np.nan
        chosen |= {shared[place] for place in _smallest(-distance)[: n // 4]}
    chosen |= set(_evenly([row for an_id, row in first.items() if an_id in {*shared} - chosen], n - len(chosen)))
    return [an_id for an_id in shared if an_id in chosen]


def _metric_of_samples(cells: Sequence[CellResult], sweep_dir: Path, metrics: Sequence[str]) -> str:
    """The first by which samples differ, or "": BLEU, for one, is a metric of a corpus."""
    for metric in metrics:
        if larger_is_better(metric, cells) is not None and all(cell.value(metric) is not None for cell in cells):
            rows = read_samples(sweep_dir / cells[0].cell_id, [f"score/{metric}"])
            if any(row[f"score/{metric}"] is not None for row in rows):
                return metric
    return ""


def _value(row: Json, metric: str, sign: float) -> float:
    """The larger, the better: the least of all for a sample without an answer, NaN where the metric does not apply."""
    value = row[f"score/{metric}"]
    if value is None:
        return -np.inf if row[f"score_state/{metric}"] in _NO_ANSWER else np.nan
    return sign * float(value)


def _smallest(values: NDArray[np.float64]) -> list[int]:
    """Places of the values, the smallest first, without those that are not known."""
    return [int(place) for place in np.argsort(values, kind="stable") if not np.isnan(values[place])]


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest difference between cells, float64[n_samples]; NaN where there is none."""
    known = np.where(np.isfinite(values), values, np.nan)
    enough = np.isfinite(known).sum(axis=1) > 1
    spread = np.full(len(known), np.nan)
    spread[enough] = np.nanmax(known[enough], axis=1) - np.nanmin(known[enough], axis=1)
    return np.where(spread > 0.0, spread, np.nan)


def _evenly(rows: Sequence[Json], n: int) -> list[str]:
    """Ids of `n` of the samples: each group has its share, and within a group chance, always the same, decides."""
    ordered = sorted(rows, key=lambda row: ([row[name] or "" for name in _GROUPS], sha256(row["id"].encode()).digest()))
    return [ordered[(2 * i + 1) * len(ordered) // (2 * n)]["id"] for i in range(min(n, len(ordered)))]
