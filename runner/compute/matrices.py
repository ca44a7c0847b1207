"""Topic x task matrices of a score stage, as CSV and as pictures."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from runner import payloads
from runner.compute.aggregate import OVERALL
from runner.stage import Inputs, Output, Stage

Cell = Mapping[str, Any]
AVERAGE = "all"


def draw_matrices(stage: Stage, inputs: Inputs) -> Output:
    """`matrix_<metric>.csv` and `.png` for every metric of the scores; nothing for a data set without topics and tasks."""
    metrics = inputs.read("scores", _decode_metrics)
    labels = inputs.read("samples", payloads.decode_labels)
    topics, tasks = _axis(metrics, "topic/", labels), _axis(metrics, "task/", labels)
    files: dict[str, bytes] = {}
    if topics and tasks:
        for name in metrics[OVERALL]:
            cells = _cells(metrics, name, topics, tasks)
            files[f"matrix_{name}.csv"] = _csv(cells, topics, tasks)
            files[f"matrix_{name}.png"] = draw(name, cells, topics, tasks, labels)
    return Output(files)


def _decode_metrics(parts: dict[str, Any]) -> dict[str, dict[str, Cell]]:
    return dict(parts["metrics"])


def _axis(metrics: Iterable[str], prefix: str, labels: Mapping[str, str]) -> list[str]:
    """Slugs of one axis: those with a label in the order of the labels, the others behind them."""
    slugs = [name.removeprefix(prefix) for name in metrics if name.startswith(prefix)]
    place = {slug: i for i, slug in enumerate(labels)}
    return sorted(slugs, key=lambda slug: (place.get(slug, len(place)), slug))


def _cells(
    metrics: Mapping[str, Mapping[str, Cell]], name: str, topics: list[str], tasks: list[str]
) -> dict[tuple[str, str], Cell]:
    """The metric of every (topic, task) that has samples, with the averages of rows and columns under `all`."""
    places = {(topic, task): f"matrix/{topic}/{task}" for topic in topics for task in tasks}
    places |= {(topic, AVERAGE): f"topic/{topic}" for topic in topics}
    places |= {(AVERAGE, task): f"task/{task}" for task in tasks}
    return {place: metrics[subset][name] for place, subset in places.items() if subset in metrics}


def _csv(cells: Mapping[tuple[str, str], Cell], topics: list[str], tasks: list[str]) -> bytes:
    """Rows are topics, columns tasks, the last of each the average over samples; an empty field has no value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["topic", *tasks, AVERAGE])
    for topic in [*topics, AVERAGE]:
        values = [cells.get((topic, task), {}).get("value") for task in [*tasks, AVERAGE]]
        writer.writerow([topic, *("" if value is None else repr(value) for value in values)])
    return text.getvalue().encode("utf-8")


def draw(
    name: str,
    cells: Mapping[tuple[str, str], Cell],
    topics: list[str],
    tasks: list[str],
    labels: Mapping[str, str],
) -> bytes:
    """A heat map as PNG, values in the cells with n in small print, averages beside a gap. Labels fall back to slugs
    where the font lacks their characters (no Chinese font comes with matplotlib)."""
    import numpy as np
    from matplotlib.figure import Figure

    rows, columns = [*topics, AVERAGE], [*tasks, AVERAGE]
    values = np.array([[_number(cells.get((row, column))) for column in columns] for row in rows])
    figure = Figure(figsize=(2.9 + 0.95 * len(columns), 1.4 + 0.36 * len(rows)), dpi=110)
    margins = (2.55 / figure.get_figwidth(), 0.15 / figure.get_figheight())
    axes = figure.add_axes((*margins, 0.98 - margins[0], 1 - margins[1] - 1.1 / figure.get_figheight()))
    shown = np.ma.masked_invalid(values)
    low, high = (float(shown.min()), float(shown.max())) if shown.count() else (0.0, 1.0)
    image = axes.imshow(shown, aspect="auto", cmap="viridis", vmin=low, vmax=high if high > low else low + 1)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            cell = cells.get((row, column))
            dark = not np.isnan(values[i, j]) and image.norm(values[i, j]) < 0.6
            colour = "white" if dark else "black"
            axes.text(
                j,
                i - 0.12,
                "–" if cell is None or cell["value"] is None else f"{values[i, j]:.3g}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8.5,
            )
            axes.text(
                j, i + 0.3, f"n={cell['n']}" if cell else "", ha="center", va="center", color=colour, fontsize=5.5
            )
    axes.set_xticks(range(len(columns)), [_label(slug, labels) for slug in columns], rotation=20, ha="left", fontsize=8)
    axes.set_yticks(range(len(rows)), [_label(slug, labels) for slug in rows], fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.axhline(len(topics) - 0.5, color="white", linewidth=3)
    axes.axvline(len(tasks) - 0.5, color="white", linewidth=3)
    axes.spines[:].set_visible(False)
    figure.text(0.01, 1 - 0.25 / figure.get_figheight(), name, fontsize=11, weight="bold")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _number(cell: Cell | None) -> float:
    return float("nan") if cell is None or cell["value"] is None else float(cell["value"])


def _label(slug: str, labels: Mapping[str, str]) -> str:
    label = "All" if slug == AVERAGE else labels.get(slug, slug)
    return label if label.isascii() else slug
