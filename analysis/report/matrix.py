"""Section: topic x task, where the data have both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.decision.scenarios import FEWEST_SAMPLES
from analysis.report.answer import Answer
from analysis.report.prose import digits_of
from analysis.report.source import Source
from components.subsets import AVERAGE, OVERALL
from runner.loaded import SubsetMetric
from runner.results import CellResult

MOST_FIELDS = 400


@dataclass(frozen=True)
class Field:
    """A cell's value for a topic and a task, over `n` samples; `pooled` with its interval is shrunken towards topic and
    task. `share` in [0, 1] is where the value lies between the smallest and the largest of the matrix.
    """

    value: float | None
    n: int
    pooled: float | None = None
    pooled_low: float | None = None
    pooled_high: float | None = None
    share: float = 0.0

    @property
    def is_few(self) -> bool:
        """With so few samples nothing is called the best."""
        return self.n < FEWEST_SAMPLES


@dataclass(frozen=True)
class Matrix:
    """A cell's values: a row for each topic and a column for each task, the averages last. `n_few` of `n_fields` are
    over fewer than `fewest` samples. A field is None where no sample is.
    """

    cell_id: str
    name: str
    metric: str
    digits: int
    tasks: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Field | None, ...]], ...]
    n_fields: int
    n_few: int
    fewest: int
    is_pooled: bool


def gather(source: Source, answer: Answer) -> tuple[Matrix, ...]:
    """Of the cell to take and of the best one; empty for data without topics and tasks, or with too many to show."""
    main = source.main
    if main is None or main.metric.subset != OVERALL:
        return ()
    chosen = dict.fromkeys(filter(None, (answer.take, answer.best)))
    cells = [cell for cell_id in chosen for cell in source.sweep.cells if cell.cell_id == cell_id]
    found = [_matrix(source, main.metric, cell) for cell in cells]
    return tuple(matrix for matrix in found if matrix)


def _matrix(source: Source, metric: SubsetMetric, cell: CellResult) -> Matrix | None:
    topics, tasks = _slugs(cell, "topic/"), _slugs(cell, "task/")
    if not topics or not tasks or len(topics) * len(tasks) > MOST_FIELDS:
        return None
    labels = cell.dataset.get("labels", {})
    entries = {
        (topic, task): _entry(cell, metric, topic, task) for topic in (*topics, AVERAGE) for task in (*tasks, AVERAGE)
    }
    inner = [entry for (topic, task), entry in entries.items() if entry and AVERAGE not in (topic, task)]
    values = [entry["value"] for entry in entries.values() if entry and entry["value"] is not None]
    rows = tuple(
        (
            "All topics" if topic == AVERAGE else str(labels.get(topic, topic)),
            tuple(_field(entries[topic, task], values) for task in (*tasks, AVERAGE)),
        )
        for topic in (*topics, AVERAGE)
    )
    return Matrix(
        cell.cell_id,
        source.names.short(cell),
        metric.metric,
        min(digits_of(values), 3),
        (*(str(labels.get(task, task)) for task in tasks), "All tasks"),
        rows,
        len(inner),
        sum(entry["n"] < FEWEST_SAMPLES for entry in inner),
        FEWEST_SAMPLES,
        any(entry.get("pooled") is not None for entry in inner),
    )


def _slugs(cell: CellResult, prefix: str) -> list[str]:
    """In the order of the labels, those without one last."""
    place = {slug: number for number, slug in enumerate(cell.dataset.get("labels", {}))}
    slugs = [name.removeprefix(prefix) for name in cell.metrics if name.startswith(prefix)]
    return sorted(slugs, key=lambda slug: (place.get(slug, len(place)), slug))


def _entry(cell: CellResult, metric: SubsetMetric, topic: str, task: str) -> Mapping[str, Any] | None:
    if topic == task == AVERAGE:
        return None  # of samples that have no topic too
    subset = f"topic/{topic}" if task == AVERAGE else f"task/{task}" if topic == AVERAGE else f"matrix/{topic}/{task}"
    return cell.metrics.get(subset, {}).get(metric.metric)


def _field(entry: Mapping[str, Any] | None, values: Sequence[float]) -> Field | None:
    if entry is None:
        return None
    value, low, high = entry["value"], min(values), max(values)
    share = 0.0 if value is None or high == low else (value - low) / (high - low)
    pooled, pooled_low, pooled_high = (entry.get(name) for name in ("pooled", "pooled_low", "pooled_high"))
    return Field(value, int(entry["n"]), pooled, pooled_low, pooled_high, round(share, 3))
