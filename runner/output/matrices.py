"""Writes the topic x task matrices of a cell as CSV and as pictures."""

import csv
import io
from collections.abc import Container, Iterable, Mapping

from components.subsets import AVERAGE, OVERALL, in_order
from runner.console.display import escape_formula
from runner.output.heatmap import Cell, draw, draw_notice, find_label

MAX_DRAWN_FIELDS = 10_000
"""A larger picture is unreadable, and hardly any program opens it."""


def matrix_files(
    metrics: Mapping[str, Mapping[str, Cell]], labels: Mapping[str, str], with_picture: Container[str]
) -> dict[str, bytes]:
    """Return `matrix_<metric>.csv` for every metric, and `matrix_<metric>.svg` for the metrics in `with_picture`.

    Returns no files for data without topics or tasks. A matrix that is too large to draw gets a notice instead of a
    picture.
    """
    topics, tasks = _axis(metrics, "topic/", labels), _axis(metrics, "task/", labels)
    files: dict[str, bytes] = {}
    if topics and tasks:
        by_field = _metrics_by_field(metrics, topics, tasks)
        for name in metrics[OVERALL]:
            cells = {field: entries[name] for field, entries in by_field.items()}
            files[f"matrix_{name}.csv"] = _csv(cells, topics, tasks, labels)
            if name in with_picture:
                is_small = len(topics) * len(tasks) <= MAX_DRAWN_FIELDS
                files[f"matrix_{name}.svg"] = (
                    draw(name, cells, topics, tasks, labels) if is_small else _too_large_picture(name, topics, tasks)
                )
    return files


def _axis(metrics: Iterable[str], prefix: str, labels: Mapping[str, str]) -> list[str]:
    """Return the slugs of one axis, in the order of their labels if all have one, else sorted."""
    slugs = [name.removeprefix(prefix) for name in metrics if name.startswith(prefix)]
    return in_order(slugs, labels)


def _metrics_by_field(
    metrics: Mapping[str, Mapping[str, Cell]], topics: list[str], tasks: list[str]
) -> dict[tuple[str, str], Mapping[str, Cell]]:
    """Return the metrics of every (topic, task) that has samples, with averages under AVERAGE."""
    subset_of = {(topic, task): f"matrix/{topic}/{task}" for topic in topics for task in tasks}
    subset_of |= {(topic, AVERAGE): f"topic/{topic}" for topic in topics}
    subset_of |= {(AVERAGE, task): f"task/{task}" for task in tasks}
    return {field: metrics[subset] for field, subset in subset_of.items() if subset in metrics}


def _too_large_picture(name: str, topics: list[str], tasks: list[str]) -> bytes:
    return draw_notice(
        name,
        f"{len(topics):,} topics x {len(tasks):,} tasks are too many fields to draw (at most {MAX_DRAWN_FIELDS:,}).",
        f"All values are in matrix_{name}.csv.",
    )


def _csv(
    cells: Mapping[tuple[str, str], Cell], topics: list[str], tasks: list[str], labels: Mapping[str, str]
) -> bytes:
    """Return CSV (UTF-8) with topics as rows, and the average as the last row.

    Columns are the tasks, the average over samples, and the partially pooled values of the tasks. Labels are the same
    as in the picture. Missing values are empty fields.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = [find_label(task, labels) for task in (*tasks, AVERAGE)]
    writer.writerow(map(escape_formula, ["topic", *heads, *(f"{head} pooled" for head in heads[:-1])]))
    for topic in [*topics, AVERAGE]:
        row = [cells.get((topic, task), {}) for task in [*tasks, AVERAGE]]
        values = [*(cell.get("value") for cell in row), *(cell.get("pooled") for cell in row[:-1])]
        writer.writerow([escape_formula(find_label(topic, labels)), *values])  # csv writes None as an empty field
    return text.getvalue().encode("utf-8")
