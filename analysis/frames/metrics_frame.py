"""Every metric of every cell over every subset, as rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.frames.cells_frame import axes_frame
from runner.results import CellResult, LoadedSweep, collect_labels

if TYPE_CHECKING:
    import pandas as pd

_DTYPES = {
    "cell_id": "string",
    "subset": "string",
    "topic": "string",
    "task": "string",
    "metric": "string",
    "value": "float64",
    "ci_low": "float64",
    "ci_high": "float64",
    "n": "Int64",
    "n_excluded": "Int64",
    "n_clusters": "Int64",
    "larger_is_better": "boolean",
}


def metrics_frame(sweep: LoadedSweep) -> "pd.DataFrame":
    """Return the frame of `Sweep.metrics`."""
    import pandas as pd

    rows = [row for cell in sweep.cells for row in _rows(cell)]
    columns = zip(*rows, strict=True) if rows else ([] for _ in _DTYPES)
    frame = pd.DataFrame(
        {name: pd.array(list(column), dtype=_DTYPES[name]) for name, column in zip(_DTYPES, columns, strict=True)}
    )
    return add_axes(frame, sweep)


def add_axes(frame: "pd.DataFrame", sweep: LoadedSweep) -> "pd.DataFrame":
    """Return the frame with the varying axes after its first column, `cell_id`.

    An axis with the name of a column of the frame becomes "axis/<name>", so that names are distinct.
    """
    import pandas as pd

    axes = axes_frame(sweep).loc[frame["cell_id"]].reset_index(drop=True)
    axes = axes.rename(columns={name: f"axis/{name}" for name in axes if name in frame})
    return pd.concat([frame[["cell_id"]], axes, frame.drop(columns="cell_id")], axis="columns")


def _rows(cell: CellResult) -> Iterator[tuple[object, ...]]:
    labels = collect_labels([cell])
    for subset, entries in cell.metrics.items():
        topic, task = (None if slug is None else labels.get(slug, slug) for slug in _topic_and_task(subset))
        for metric, entry in entries.items():
            yield (
                cell.cell_id,
                subset,
                topic,
                task,
                metric,
                entry["value"],
                entry.get("ci_low"),
                entry.get("ci_high"),
                entry["n"],
                sum(entry["n_excluded"].values()),
                entry.get("n_clusters"),
                cell.larger_is_better.get(metric),
            )


def _topic_and_task(subset: str) -> tuple[str | None, str | None]:
    """Return the slugs in "topic/...", "task/..." or "matrix/<topic>/<task>"; None for a missing one."""
    group, *slugs = subset.split("/")
    match group, slugs:
        case "topic", [topic]:
            return topic, None
        case "task", [task]:
            return None, task
        case "matrix", [topic, task]:
            return topic, task
        case _:
            return None, None
