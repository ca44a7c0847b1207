"""Cells as rows: what varies between them, and their numbers over all samples."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from components.records import AnswerState
from components.subsets import OVERALL
from runner.common_samples import OWN_MEANS, common_means
from runner.loaded import LoadedSweep, describe, shown
from runner.ranking import ranked
from runner.results import CellResult, change_name, common_base

if TYPE_CHECKING:
    import pandas as pd


def axes_frame(sweep: LoadedSweep) -> "pd.DataFrame":
    """The axes that vary, by `cell_id`. Values that are no number, truth value or text stand as they are shown."""
    import pandas as pd

    values = {axis: [_plain(cell.axes.get(axis)) for cell in sweep.cells] for axis in sweep.axes()}
    ids = pd.Index([cell.cell_id for cell in sweep.cells], name="cell_id", dtype="string")
    return pd.DataFrame(values, index=ids).convert_dtypes()


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else shown(value)


def cells_frame(sweep: LoadedSweep) -> "pd.DataFrame":
    """As `Sweep.cells`. Raises DataError if samples, which order the cells, cannot be read."""
    import pandas as pd

    metrics = sweep.headlines()
    common = common_means(sweep.cells, sweep.folder_of, metrics[0]) if metrics else OWN_MEANS
    _, cells = ranked(sweep.cells, sweep.headline, common)
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
    """By id what tells a cell from the others, "retriever=bm25, top_k=2"; its id if it is the only one. Of cells that
    each change little of a base, what they change.
    """
    axes = sweep.axes()
    base = common_base([cell.axes for cell in sweep.cells], axes)
    return {
        cell.cell_id: (describe(cell, axes) if base is None else change_name(cell.axes, base)) or cell.cell_id
        for cell in sweep.cells
    }


def _values(metric: str, entries: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    import pandas as pd

    entries = list(entries)
    fields = {"": "value", " low": "ci_low", " high": "ci_high"}
    numbers = {f"{metric}{of}": [entry.get(field) for entry in entries] for of, field in fields.items()}
    counts = pd.array([entry.get("n") for entry in entries], dtype="Int64")
    return pd.DataFrame(numbers, dtype="float64").assign(**{f"{metric} n": counts})


def _efforts(cells: Iterable[CellResult]) -> "pd.DataFrame":
    import pandas as pd

    cells = list(cells)

    def counts(values: Iterable[Any]) -> Any:
        return pd.array(list(values), dtype="Int64")

    def seconds(values: Iterable[Any]) -> Any:
        return pd.array(list(values), dtype="float64")

    return pd.DataFrame(
        {
            "n_samples": counts(sum(cell.counts.values()) for cell in cells),
            "n_failed": counts(cell.counts.get(AnswerState.ERROR, 0) for cell in cells),
            "prompt_tokens": counts(cell.tokens.get("prompt") for cell in cells),
            "completion_tokens": counts(cell.tokens.get("completion") for cell in cells),
            "cost": seconds(cell.cost for cell in cells),
            "currency": pd.array([cell.currency for cell in cells], dtype="string"),
            "latency_p50_s": seconds(cell.latency_s.get("p50") for cell in cells),
            "latency_p95_s": seconds(cell.latency_s.get("p95") for cell in cells),
            "one_time_s": seconds(cell.one_time_s for cell in cells),
        }
    )
