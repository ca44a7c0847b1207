"""The leaderboard as a table for a spreadsheet."""

import csv
import io
from collections.abc import Sequence

from components.subsets import OVERALL
from runner.console.display import no_formula
from runner.results import CellResult
from runner.results.joined_samples import OWN_MEANS, CommonMeans


def leaderboard_csv(
    cells: Sequence[CellResult], axes: Sequence[str], metrics: Sequence[str], common: CommonMeans = OWN_MEANS
) -> bytes:
    """CSV (UTF-8), a row per cell in the order given: its id, its status, the axes, and of every metric the value, the
    interval and the number of samples. Fields are empty where there is nothing. Texts that a spreadsheet would take for
    a formula begin with an apostrophe.

    Where cells leave out different samples, `common` is the first metric over those that all have, by which the cells
    are ordered: its value and the number of these samples come before the cells' own. What a cell costs when nothing
    is kept comes last, where language models were asked; empty where it is not known.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    own = [f"{name}{of}" for name in metrics for of in ("", " low", " high", " n")]
    ranking = [f"{metrics[0]} common", "common n"] if common.by_cell else []
    costs = ["cost", "currency"] if any(cell.usage for cell in cells) else []
    writer.writerow(["cell", "status", *map(no_formula, [*axes, *ranking, *own]), *costs])
    for cell in cells:
        entries = [cell.metrics.get(OVERALL, {}).get(name, {}) for name in metrics]
        values = [entry.get(field) for entry in entries for field in ("value", "ci_low", "ci_high", "n")]
        ranked_by = [common.by_cell.get(cell.cell_id), common.n if cell.cell_id in common.by_cell else None]
        row = [*(no_formula(cell.axes.get(axis)) for axis in axes), *ranked_by[: len(ranking)], *values]
        writer.writerow([cell.cell_id, cell.status, *row, *[cell.cost, cell.currency][: len(costs)]])
    return text.getvalue().encode("utf-8")
