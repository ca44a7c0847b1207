"""Cells that are one to the metric that ranks them, such as those with another top_k to a metric of rankings."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from components.subsets import OVERALL
from runner.output.draw_rows import N_DRAWS
from runner.results import OK, CellResult, read_cell
from runner.results.joined_samples import common_samples
from runner.results.undecided_cells import equal_groups

Equal = dict[str, list[CellResult]]
"""The cells that a row stands for besides its first one, by the first one's id."""


_MOST_CELLS = 200
"""Cells that are looked at: a terminal shows no more rows, and reading the samples of thousands takes long."""


def equal_rows(ordered: Sequence[CellResult], sweep_dir: Path, metric: str) -> Equal:
    """Return the cells of a ranking that have the same value of its metric for every sample as a cell before them.
    Samples are read only where values and intervals are equal. Raises DataError if they cannot be read.
    """
    found: Equal = {}
    for _, group in groupby(ordered[:_MOST_CELLS], lambda cell: _entry(cell, metric)):
        cells = list(group)
        if len(cells) > 1 and _has_samples(cells, metric):
            # As it was written: of the others only what a leaderboard shows may have been kept.
            cells[0] = read_cell(sweep_dir / cells[0].cell_id)
            joined = common_samples(cells, lambda cell: sweep_dir / cell.cell_id, metric, OVERALL)
            for first, *others in equal_groups(joined, larger_is_better=True):
                if others:
                    found[joined.cells[first].cell_id] = [joined.cells[place] for place in others]
    return found


def _entry(cell: CellResult, metric: str) -> tuple[object, ...]:
    entry = cell.metrics.get(OVERALL, {}).get(metric, {})
    return cell.status, *(repr(entry.get(name)) for name in ("value", "n", "n_excluded", "ci_low", "ci_high"))


def _has_samples(cells: Sequence[CellResult], metric: str) -> bool:
    """Rows of several draws have none of their own."""
    return all(cell.status == OK and cell.value(metric) is not None and N_DRAWS not in cell.axes for cell in cells)
