"""The leaderboard as a table for a spreadsheet."""

import csv
import io
from collections.abc import Sequence

from components.json_value import Json
from components.subsets import OVERALL
from runner.results import CellResult

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def leaderboard_csv(cells: Sequence[CellResult], axes: Sequence[str], metrics: Sequence[str]) -> bytes:
    """CSV (UTF-8), a row per cell in the order given: its id, its status, the axes, and of every metric the value, the
    interval and the number of samples. Fields are empty where there is nothing. Texts that a spreadsheet would take for
    a formula begin with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    own = (f"{name}{of}" for name in metrics for of in ("", " low", " high", " n"))
    writer.writerow(["cell", "status", *map(_plain, axes), *map(_plain, own)])
    for cell in cells:
        entries = [cell.metrics.get(OVERALL, {}).get(name, {}) for name in metrics]
        values = [entry.get(field) for entry in entries for field in ("value", "ci_low", "ci_high", "n")]
        writer.writerow([cell.cell_id, cell.status, *(_plain(cell.axes.get(axis)) for axis in axes), *values])
    return text.getvalue().encode("utf-8")


def _plain(value: Json) -> Json:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
