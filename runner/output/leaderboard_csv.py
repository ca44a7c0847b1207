"""Writes the leaderboard as a table for a spreadsheet."""

import csv
import io
from collections.abc import Sequence

from components.subsets import OVERALL
from runner.console.display import escape_formula
from runner.results import CellResult
from runner.results.joined_samples import OWN_MEANS, CommonMeans


def leaderboard_csv(
    cells: Sequence[CellResult],
    axes: Sequence[str],
    metrics: Sequence[str],
    common: CommonMeans = OWN_MEANS,
    search: str = "",
) -> bytes:
    """Return CSV (UTF-8) with a row per cell, in the given order.

    Columns are the cell's id, its status, its axes, and the value, interval and number of samples of every metric.
    Missing values are empty fields. Strings that a spreadsheet would take for a formula begin with an apostrophe.

    If cells leave out different samples, `common` is the mean of the first metric over the samples that all cells have.
    It ranks the cells, and comes before their other values with the number of these samples. If language models were
    asked, the last columns are the cost of the cell with an empty store; empty if unknown. `search` is the mark of a
    searched sweep, which every row repeats.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [f"{name}{suffix}" for name in metrics for suffix in ("", " low", " high", " n")]
    ranking = [f"{metrics[0]} common", "common n"] if common.by_cell else []
    costs = ["cost", "currency"] if any(cell.usage for cell in cells) else []
    writer.writerow(
        ["cell", "status", *map(escape_formula, [*axes, *ranking, *columns]), *costs, *(["search"] if search else [])]
    )
    for cell in cells:
        entries = [cell.metrics.get(OVERALL, {}).get(name, {}) for name in metrics]
        values = [entry.get(field) for entry in entries for field in ("value", "ci_low", "ci_high", "n")]
        ranked_by = [common.by_cell.get(cell.cell_id), common.n if cell.cell_id in common.by_cell else None]
        row = [*(escape_formula(cell.axes.get(axis)) for axis in axes), *ranked_by[: len(ranking)], *values]
        writer.writerow(
            [cell.cell_id, cell.status, *row, *[cell.cost, cell.currency][: len(costs)], *([search] if search else [])]
        )
    return text.getvalue().encode("utf-8")
