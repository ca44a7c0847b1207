"""Dot plot: values with their intervals, one row each. `interval` draws a single row without labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.charts.canvas import (
    ACCENT,
    INK,
    LINE,
    MUTED,
    PALE,
    Scale,
    line,
    padded_range,
    svg_document,
    text,
    text_width,
    tick_label,
)

_ROW, _MARGIN, _PLOT = 22, 8, 320


@dataclass(frozen=True)
class Dot:
    """A value with an optional interval. `note` is right of the row; a strong dot has the accent colour."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    is_strong: bool = False


def dots(rows: Sequence[Dot], title: str, *, with_zero: bool = False, plot_width: int = _PLOT) -> str:
    """Return an SVG with a row for each value. `with_zero` draws a line at 0, for differences."""
    scale_low, scale_high = padded_range([*_ends(rows), *([0.0] if with_zero else [])])
    left = 2 * _MARGIN + max((text_width(row.label) for row in rows), default=0)
    right = 2 * _MARGIN + max((text_width(row.note) for row in rows), default=0)
    scale = Scale(scale_low, scale_high, left, left + plot_width)
    bottom = _MARGIN + len(rows) * _ROW
    parts = [_tick(scale, value, bottom) for value in scale.ticks(4)]
    if with_zero:
        parts.append(line(scale.at(0.0), _MARGIN, scale.at(0.0), bottom, stroke=MUTED))
    for number, row in enumerate(rows):
        y = _MARGIN + number * _ROW + _ROW / 2
        parts += [
            text(left - _MARGIN, y + 4, row.label, anchor="end"),
            mark(scale, row, y),
            text(left + plot_width + _MARGIN, y + 4, row.note, ink=INK if row.is_strong else MUTED),
        ]
    return svg_document(left + plot_width + right, bottom + 20, title, parts)


def mark(scale: Scale, row: Dot, y: float) -> str:
    """Return the interval as a bar and the value as a dot on it."""
    colour = ACCENT if row.is_strong else PALE
    bar = ""
    if row.low is not None and row.high is not None:
        bar = line(scale.at(row.low), y, scale.at(row.high), y, stroke=colour, width=5)
    return f'{bar}<circle cx="{scale.at(row.value):g}" cy="{y:g}" r="3.5" fill="{INK}"/>'


def _ends(rows: Sequence[Dot]) -> list[float]:
    return [end for row in rows for end in (row.value, row.low, row.high) if end is not None]


def _tick(scale: Scale, value: float, bottom: float) -> str:
    x = scale.at(value)
    return line(x, _MARGIN, x, bottom, stroke=LINE) + text(
        x, bottom + 14, tick_label(value), anchor="middle", ink=MUTED, size=11
    )


WIDTH, _HEIGHT = 150, 16


def interval(row: Dot, low: float, high: float) -> str:
    """Return an SVG on a scale from `low` to `high`, which all rows of a table share. Screen readers skip it."""
    scale = Scale(low, high, 4, WIDTH - 4)
    return (
        f'<svg aria-hidden="true" width="{WIDTH}" height="{_HEIGHT}" viewBox="0 0 {WIDTH} {_HEIGHT}">'
        f"{mark(scale, row, _HEIGHT / 2)}</svg>"
    )
