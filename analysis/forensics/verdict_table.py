"""Tables of the verdicts on all samples of cells."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from components.errors import DataError
from components.forensics.stages import THETA
from runner.results import CellResult, LoadedSweep, sample_verdicts

if TYPE_CHECKING:
    import pandas as pd


def verdicts(sweep: LoadedSweep, cell: CellResult, theta: float = THETA) -> "pd.DataFrame":
    """Return a row per sample, in the order of `samples.parquet`.

    The columns are id, subset, topic, task, stage, outcome, failure ("" without a failure), is_uncertain (bool), doubts
    (the reason for it, or "") and rank_needed (Int64). `rank_needed` is the rank down to which the hits contain the
    evidence; it is missing if all of them together do not.

    `theta` is the share of a gold unit's characters that counts as enough of it. Raises DataError for a cell without a
    table of samples, or with a table of an earlier version.
    """
    import pandas as pd

    found = sample_verdicts(sweep, cell, theta)
    return pd.DataFrame(
        {
            "id": [own.id for own in found],
            "subset": [own.subset for own in found],
            "topic": [own.topic for own in found],
            "task": [own.task for own in found],
            "stage": [own.verdict.stage.value for own in found],
            "outcome": [own.verdict.outcome.value for own in found],
            "failure": [own.verdict.failure.value for own in found],
            "is_uncertain": [bool(own.verdict.doubts) for own in found],
            "doubts": ["; ".join(own.verdict.doubts) for own in found],
            "rank_needed": pd.array([own.verdict.rank_needed for own in found], dtype="Int64"),
        }
    )


def all_verdicts(sweep: LoadedSweep, cells: Iterable[CellResult] | None = None, theta: float = THETA) -> "pd.DataFrame":
    """Return the verdicts on the samples of several cells, one cell after the other, with `cell_id` first.

    None stands for all cells with results. Raises the DataError of `verdicts`, and a DataError if there is no such
    cell.
    """
    import pandas as pd

    chosen = [cell for cell in sweep.cells if cell.metrics] if cells is None else list(cells)
    if not chosen:
        raise DataError(f"{sweep.name}: no cell to look at; did all of them fail?")
    tables = [verdicts(sweep, cell, theta) for cell in chosen]
    for cell, table in zip(chosen, tables, strict=True):
        table.insert(0, "cell_id", cell.cell_id)
    return pd.concat(tables, ignore_index=True)
