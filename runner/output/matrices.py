"""Topic x task matrices of a cell, as CSV and as pictures."""

import csv
import io
from collections.abc import Container, Iterable, Mapping

from components.subsets import AVERAGE, OVERALL, in_order
from runner.console.display import no_formula
from runner.output.heatmap import Cell, draw, label_of, say_too_large

MOST_FIELDS_DRAWN = 10_000
"""A picture with more fields than a hundred times a hundred shows nothing, and no program opens it."""


def matrix_files(
    metrics: Mapping[str, Mapping[str, Cell]], labels: Mapping[str, str], drawn: Container[str]
) -> dict[str, bytes]:
    """`matrix_<metric>.csv` for every metric and `.svg` for those `drawn`; nothing for data without topics and tasks.
    The place of a picture that would be too large says so.
    """
    topics, tasks = _axis(metrics, "topic/", labels), _axis(metrics, "task/", labels)
    files: dict[str, bytes] = {}
    if topics and tasks:
        places = _places(metrics, topics, tasks)
        for name in metrics[OVERALL]:
            cells = {place: entries[name] for place, entries in places.items()}
            files[f"matrix_{name}.csv"] = _csv(cells, topics, tasks, labels)
            if name in drawn:
                is_small = len(topics) * len(tasks) <= MOST_FIELDS_DRAWN
                files[f"matrix_{name}.svg"] = (
                    draw(name, cells, topics, tasks, labels) if is_small else _too_large(name, topics, tasks)
                )
    return files


def _axis(metrics: Iterable[str], prefix: str, labels: Mapping[str, str]) -> list[str]:
    """Slugs of one axis: in the order of their labels if all have one, else by themselves."""
    slugs = [name.removeprefix(prefix) for name in metrics if name.startswith(prefix)]
    return in_order(slugs, labels)


def _places(
    metrics: Mapping[str, Mapping[str, Cell]], topics: list[str], tasks: list[str]
) -> dict[tuple[str, str], Mapping[str, Cell]]:
    """The metrics of every (topic, task) that has samples, with the averages of rows and columns under `all`."""
    places = {(topic, task): f"matrix/{topic}/{task}" for topic in topics for task in tasks}
    places |= {(topic, AVERAGE): f"topic/{topic}" for topic in topics}
    places |= {(AVERAGE, task): f"task/{task}" for task in tasks}
    return {place: metrics[subset] for place, subset in places.items() if subset in metrics}


def _too_large(name: str, topics: list[str], tasks: list[str]) -> bytes:
    return say_too_large(
        name,
        f"{len(topics):,} topics x {len(tasks):,} tasks are more fields than the {MOST_FIELDS_DRAWN:,} that are drawn.",
        f"All values are in matrix_{name}.csv.",
    )


def _csv(
    cells: Mapping[tuple[str, str], Cell], topics: list[str], tasks: list[str], labels: Mapping[str, str]
) -> bytes:
    """Rows are topics, columns tasks, then the average over samples, then the partially pooled values of the tasks; the
    last row is the average. They have the labels of the picture. An empty field has no value.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = [label_of(task, labels) for task in (*tasks, AVERAGE)]
    writer.writerow(map(no_formula, ["topic", *heads, *(f"{head} pooled" for head in heads[:-1])]))
    for topic in [*topics, AVERAGE]:
        row = [cells.get((topic, task), {}) for task in [*tasks, AVERAGE]]
        values = [*(cell.get("value") for cell in row), *(cell.get("pooled") for cell in row[:-1])]
        writer.writerow([no_formula(label_of(topic, labels)), *values])  # which leaves a field of None empty
    return text.getvalue().encode("utf-8")
