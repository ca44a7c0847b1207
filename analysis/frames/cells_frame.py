"""Cells as rows: the axes that vary, and the numbers over all samples."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from components.records import AnswerState
from components.subsets import OVERALL
from runner.results import (
    OWN_MEANS,
    CellResult,
    LoadedSweep,
    change_name,
    common_base,
    common_means,
    describe,
    format_level,
    rank_cells,
)

if TYPE_CHECKING:
    import pandas as pd


def axes_frame(sweep: LoadedSweep) -> "pd.DataFrame":
    """Return the varying axes, indexed by `cell_id`. Values other than numbers, truth values and texts become texts."""
    import pandas as pd

    values = {axis: [_plain(cell.axes.get(axis)) for cell in sweep.cells] for axis in sweep.axes()}
    ids = pd.Index([cell.cell_id for cell in sweep.cells], name="cell_id", dtype="string")
    return pd.DataFrame(values, index=ids).convert_dtypes()


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else format_level(value)


def cells_frame(sweep: LoadedSweep) -> "pd.DataFrame":
    """Return the frame of `Sweep.cells`. Raises DataError if samples, which order the cells, cannot be read."""
    import pandas as pd

    metrics = sweep.headlines()
    common = common_means(sweep.cells, sweep.folder_of, metrics[0]) if metrics else OWN_MEANS
    _, cells = rank_cells(sweep.cells, sweep.headline, common)
    names = cell_names(sweep)
    ids = [cell.cell_id for cell in cells]
    texts = {
        "cell_id": ids,
        "name": [names[cell_id] for cell_id in ids],
        "status": [cell.status for cell in cells],
        "reason": [cell.reason for cell in cells],
    }
    return pd.concat(
        [
            pd.DataFrame(texts, dtype="string"),
            axes_frame(sweep).loc[ids].reset_index(drop=True),
            *(_values(metric, [cell.metrics.get(OVERALL, {}).get(metric, {}) for cell in cells]) for metric in metrics),
            _efforts(cells),
        ],
        axis="columns",
    )


def cell_names(sweep: LoadedSweep) -> dict[str, str]:
    """Return, by id, the values that distinguish each cell, e.g. "retriever=bm25, top_k=2"; the id of a single cell.

    Cells that change little of a common base are named by their changes.
    """
    axes = sweep.axes()
    base = common_base([cell.axes for cell in sweep.cells], axes)
    return {
        cell.cell_id: (describe(cell, axes) if base is None else change_name(cell.axes, base)) or cell.cell_id
        for cell in sweep.cells
    }


def _values(metric: str, entries: Sequence[Mapping[str, object]]) -> "pd.DataFrame":
    import pandas as pd

    fields = {"": "value", " low": "ci_low", " high": "ci_high"}
    numbers = {f"{metric}{suffix}": [entry.get(field) for entry in entries] for suffix, field in fields.items()}
    counts = pd.array([entry.get("n") for entry in entries], dtype="Int64")
    return pd.DataFrame(numbers, dtype="float64").assign(**{f"{metric} n": counts})


_EFFORTS: Mapping[str, tuple[str, Callable[[CellResult], object]]] = {
    "n_samples": ("Int64", lambda cell: sum(cell.counts.values())),
    "n_failed": ("Int64", lambda cell: cell.counts.get(AnswerState.ERROR, 0)),
    "prompt_tokens": ("Int64", lambda cell: cell.tokens.get("prompt")),
    "completion_tokens": ("Int64", lambda cell: cell.tokens.get("completion")),
    "cost": ("float64", lambda cell: cell.cost),
    "currency": ("string", lambda cell: cell.currency),
    "latency_p50_s": ("float64", lambda cell: cell.latency_s.get("p50")),
    "latency_p95_s": ("float64", lambda cell: cell.latency_s.get("p95")),
    "one_time_s": ("float64", lambda cell: cell.one_time_s),
}
"""Column -> its dtype, and the function that reads it."""


def _efforts(cells: Sequence[CellResult]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        {name: pd.array([value(cell) for cell in cells], dtype=dtype) for name, (dtype, value) in _EFFORTS.items()}
    )
