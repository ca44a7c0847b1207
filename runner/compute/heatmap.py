"""A topic x task matrix as a picture."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Cell = Mapping[str, Any]
AVERAGE = "all"
_INCHES_LEFT, _INCHES_TOP = 2.3, 0.95


def draw(
    name: str,
    cells: Mapping[tuple[str, str], Cell],
    topics: Sequence[str],
    tasks: Sequence[str],
    labels: Mapping[str, str],
) -> bytes:
    """PNG of a heat map: values in the cells with n in small print, the averages of rows and columns beside a gap.

    `cells` hold `value` (or None) and `n` by (topic, task), with AVERAGE for a whole row or column.
    """
    from matplotlib.figure import Figure

    rows, columns = [*topics, AVERAGE], [*tasks, AVERAGE]
    figure = Figure(figsize=(_INCHES_LEFT + 0.15 + 0.95 * len(columns), _INCHES_TOP + 0.1 + 0.36 * len(rows)), dpi=110)
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (_INCHES_LEFT / width, 0.1 / height, 1 - (_INCHES_LEFT + 0.15) / width, 1 - (_INCHES_TOP + 0.1) / height)
    )
    values = np.array([[_number(cells.get((row, column))) for column in columns] for row in rows])
    _fill(axes, values, [[cells.get((row, column)) for column in columns] for row in rows])
    axes.set_xticks(range(len(columns)), [_label(slug, labels) for slug in columns], rotation=18, ha="left", fontsize=8)
    axes.set_yticks(range(len(rows)), [_label(slug, labels) for slug in rows], fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.axhline(len(topics) - 0.5, color="white", linewidth=3)
    axes.axvline(len(tasks) - 0.5, color="white", linewidth=3)
    axes.spines[:].set_visible(False)
    figure.text(0.1 / width, 1 - 0.28 / height, name, fontsize=11, weight="bold")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _fill(axes: Any, values: Any, cells: Sequence[Sequence[Cell | None]]) -> None:
    """Colours, values and counts; the text is white on dark cells."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    axes.imshow(
        np.ma.masked_invalid(values), aspect="auto", cmap="viridis", vmin=low, vmax=high if high > low else low + 1
    )
    decimals = 3 if high < 10 else 0
    for (i, j), value in np.ndenumerate(values):
        cell = cells[i][j]
        if cell is None:
            continue
        colour = "white" if value - low < 0.6 * (high - low) else "black"
        text = "–" if np.isnan(value) else f"{value:.{decimals}f}"
        axes.text(j, i - 0.12, text, ha="center", va="center", color=colour, fontsize=8.5)
        axes.text(j, i + 0.3, f"n={cell['n']}", ha="center", va="center", color=colour, fontsize=5.5)


def _number(cell: Cell | None) -> float:
    return float("nan") if cell is None or cell["value"] is None else float(cell["value"])


def _label(slug: str, labels: Mapping[str, str]) -> str:
    """The readable label; the slug where the label needs characters that matplotlib's own font lacks (Chinese)."""
    label = "All" if slug == AVERAGE else labels.get(slug, slug)
    return label if label.isascii() else slug
