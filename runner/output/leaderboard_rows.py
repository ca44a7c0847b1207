"""Rows of a leaderboard that represent several cells: the draws of a configuration, or cells with equal values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import fmean

from components.json_value import Json
from components.subsets import OVERALL
from runner.results import OK, CellResult, read_cell
from runner.results.cell_axes import DRAWS, identify_configuration
from runner.results.indistinguishable_cells import equal_groups
from runner.results.joined_samples import CommonMeans, common_samples, mean_values

DRAWS_AXIS = "draws"
"""Axis of a row with the number of draws that the row is a mean over."""

EqualCells = dict[str, list[CellResult]]
"""Further cells that a row represents, by the id of its first cell."""

_MAX_COMPARED_CELLS = 200
"""Cells. A terminal shows no more rows, and reading the samples of thousands takes long."""


def join_draws(cells: Sequence[CellResult], common: CommonMeans) -> tuple[list[CellResult], CommonMeans]:
    """Replace the draws of each configuration by one cell, in the place of the first draw, and join their common means.

    Which of several draws (`repeat`, `judge_repeat`) is best is chance. If no configuration has two draws, the cells
    are returned unchanged. A failed draw remains a separate row.

    Values and interval ends are means over the draws. Numbers of samples are sums if draws differ in them. The interval
    is about as wide as for one draw, and so wide enough for the mean.
    """
    groups: dict[str, list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(identify_configuration(cell) if cell.status == OK else cell.cell_id, []).append(cell)
    if len(groups) == len(cells):
        return list(cells), common
    joined = [(_join(draws), draws) for draws in groups.values()]
    means = {
        cell.cell_id: fmean(common.by_cell[draw.cell_id] for draw in draws)
        for cell, draws in joined
        if all(draw.cell_id in common.by_cell for draw in draws)
    }
    return [cell for cell, _ in joined], replace(common, by_cell=means)


def _join(draws: Sequence[CellResult]) -> CellResult:
    """Return the mean of draws, with the metrics that all of them have in memory.

    Which metrics `select_ranked_part` keeps of a draw depends on its values.
    """
    first = draws[0]
    metrics = {
        subset: {
            name: _average([draw.metrics[subset][name] for draw in draws])
            for name in entries
            if all(name in draw.metrics[subset] for draw in draws)
        }
        for subset, entries in first.metrics.items()
    }
    axes = {name: value for name, value in first.axes.items() if name not in DRAWS}
    cell_id = first.cell_id + (f" +{len(draws) - 1}" if len(draws) > 1 else "")
    return replace(first, cell_id=cell_id, axes={**axes, DRAWS_AXIS: len(draws)}, metrics=metrics)


def _average(entries: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Average the fields of a metric that a leaderboard reads. A field is None if it is None in any draw."""
    means = mean_values(entries)
    if "n" not in entries[0]:  # a running sweep keeps only the values of subsets
        return means
    if all((entry["n"], entry["n_excluded"]) == (entries[0]["n"], entries[0]["n_excluded"]) for entry in entries):
        return {**means, "n": entries[0]["n"], "n_excluded": entries[0]["n_excluded"]}
    left_out: Counter[str] = sum((Counter(entry["n_excluded"]) for entry in entries), Counter())
    return {**means, "n": sum(entry["n"] for entry in entries), "n_excluded": dict(left_out)}


def equal_rows(ordered: Sequence[CellResult], sweep_dir: Path, metric: str) -> EqualCells:
    """Return the cells of a ranking that have the same value of the metric for every sample as an earlier cell.

    For example, cells that differ in top_k are equal for a metric of rankings. Samples are read only if values and
    intervals are equal. Raises DataError if the samples cannot be read.
    """
    equal_cells: EqualCells = {}
    for _, group in groupby(ordered[:_MAX_COMPARED_CELLS], lambda cell: _entry(cell, metric)):
        cells = list(group)
        if len(cells) > 1 and _has_samples(cells, metric):
            # Read again, because memory may hold only what a leaderboard shows.
            cells[0] = read_cell(sweep_dir / cells[0].cell_id)
            joined = common_samples(cells, lambda cell: sweep_dir / cell.cell_id, metric, OVERALL)
            for first, *others in equal_groups(joined, larger_is_better=True):
                if others:
                    equal_cells[joined.cells[first].cell_id] = [joined.cells[index] for index in others]
    return equal_cells


def _entry(cell: CellResult, metric: str) -> tuple[object, ...]:
    entry = cell.metrics.get(OVERALL, {}).get(metric, {})
    return cell.status, *(repr(entry.get(name)) for name in ("value", "n", "n_excluded", "ci_low", "ci_high"))


def _has_samples(cells: Sequence[CellResult], metric: str) -> bool:
    """Return False also for rows of several draws, which have no samples."""
    return all(cell.status == OK and cell.value(metric) is not None and DRAWS_AXIS not in cell.axes for cell in cells)
