"""The leaderboard as a table for a spreadsheet."""

import csv
import io
from collections.abc import Sequence

from components.subsets import OVERALL
from runner.display import no_formula
from runner.results import CellResult


def leaderboard_csv(cells: Sequence[CellResult], axes: Sequence[str], metrics: Sequence[str]) -> bytes:
    """CSV (UTF-8), a row per cell in the order given: its id, its status, the axes, and of every metric the value, the
    interval and the number of samples. Fields are empty where there is nothing. Texts that a spreadsheet would take for
    a formula begin with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    own = (f"{name}{of}" for name in metrics for of in ("", " low", " high", " n"))
    writer.writerow(["cell", "status", *map(no_formula, axes), *map(no_formula, own)])
    for cell in cells:
        entries = [cell.metrics.get(OVERALL, {}).get(name, {}) for name in metrics]
        values = [entry.get(field) for entry in entries for field in ("value", "ci_low", "ci_high", "n")]
        writer.writerow([cell.cell_id, cell.status, *(no_formula(cell.axes.get(axis)) for axis in axes), *values])
    return text.getvalue().encode("utf-8")
