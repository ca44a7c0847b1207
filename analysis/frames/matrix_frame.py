"""Topic x task of one metric and one cell, as a frame."""

from typing import TYPE_CHECKING

from components.errors import DataError
from components.limits import expected_one_of
from components.subsets import AVERAGE, OVERALL, in_order
from runner.results import CellResult, LoadedSweep, collect_labels

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("value", "ci_low", "ci_high", "n", "n_clusters", "pooled", "pooled_low", "pooled_high")
ALL = "All"
"""The label of the row over all topics, and of the column over all tasks."""


def matrix_frame(sweep: LoadedSweep, cell: CellResult, metric: str, field: str) -> "pd.DataFrame":
    """Return the frame of `Sweep.matrix`."""
    import pandas as pd

    if field not in FIELDS:
        raise DataError(f"field: got {field!r}{expected_one_of(field, FIELDS)}")
    parsed = sweep.metric(metric or sweep.headline_metric())
    if parsed.subset != OVERALL:
        raise DataError(f"{metric}: a matrix is over all samples. Use the metric alone: {parsed.metric!r}")
    topics, tasks = _slugs(cell, "topic"), _slugs(cell, "task")
    if missing := [name for name, slugs in (("topics", topics), ("tasks", tasks)) if not slugs]:
        raise DataError(f"{cell.cell_id}: its data have no {' and no '.join(missing)}, so there is no matrix")
    labels = collect_labels([cell]) | {AVERAGE: ALL}
    values = [[_entry(cell, parsed.metric, topic, task).get(field) for task in tasks] for topic in topics]
    return pd.DataFrame(
        values,
        index=pd.Index([labels.get(topic, topic) for topic in topics], name="topic", dtype="string"),
        columns=pd.Index([labels.get(task, task) for task in tasks], name="task", dtype="string"),
        dtype="float64",
    )


def _slugs(cell: CellResult, group: str) -> list[str]:
    """Return topics or tasks in the order of their labels, with AVERAGE last. Return [] if the data have no labels."""
    slugs = [subset.partition("/")[2] for subset in cell.metrics if subset.startswith(f"{group}/")]
    return [*in_order(slugs, collect_labels([cell])), AVERAGE] if slugs else []


def _entry(cell: CellResult, metric: str, topic: str, task: str) -> dict[str, float | None]:
    """Return the values of a matrix field; {} for the corner, because the mean over all samples includes samples
    without a topic.
    """
    subset = f"task/{task}" if topic == AVERAGE else f"topic/{topic}" if task == AVERAGE else f"matrix/{topic}/{task}"
    return dict(cell.metrics.get(subset, {}).get(metric, {}))
