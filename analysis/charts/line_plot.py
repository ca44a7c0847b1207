"""Line chart of values over the levels of an axis, one line per group, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from textwrap import wrap

from analysis.charts.canvas import (
    INK,
    LEGEND_ROW,
    LINE,
    MUTED,
    PAPER,
    Scale,
    legend,
    line,
    padded_range,
    series_stroke,
    svg_document,
    text,
    text_width,
    tick_label,
)

Level = str | float

_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT, _RIGHT = 72, 30, 440, 260, 16
_NOTE_ROW, _NOTE_CHARACTERS = 15, 59
_INSET, _BETWEEN_LABELS, _APART = 24, 14, 5
_MIN_POINTS_FOR_LOG, _MIN_FACTOR = 3, 1.9


@dataclass(frozen=True)
class LinePoint:
    """A value at a level of the axis, with an optional interval."""

    level: Level
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PlotLine:
    """The points of a group, in the order of the axis. `label` is "" for a single group."""

    label: str
    points: Sequence[LinePoint]


def line_plot(lines: Sequence[PlotLine], x_title: str, y_title: str, *, notes: Sequence[str] = ()) -> str:
    """Return an SVG with one line per group, whiskers for intervals, a legend for labelled groups, and `notes` below.

    Numeric levels are placed to scale. The scale is logarithmic for three or more levels if each is about twice the one
    before (64, 128, 256). Other levels are equidistant, in order of first appearance.
    """
    levels = list(dict.fromkeys(point.level for each in lines for point in each.points))
    axis = _Axis.from_levels(levels)
    ends = [end for each in lines for point in each.points for end in (point.value, point.low, point.high)]
    bottom = _TOP + _PLOT_HEIGHT
    ys = Scale(*padded_range(end for end in ends if end is not None), bottom, _TOP)
    right = _LEFT + axis.width
    parts = [f'<rect width="100%" height="100%" fill="{PAPER}"/>', text(8, 18, y_title, ink=INK)]
    for value in ys.ticks():
        parts.append(line(_LEFT, ys.at(value), right, ys.at(value), stroke=LINE))
        parts.append(text(_LEFT - 6, ys.at(value) + 4, tick_label(value), anchor="end", ink=MUTED, size=11))
    parts += _level_labels(axis, bottom)
    parts.append(text((_LEFT + right) / 2, bottom + 38, x_title, anchor="middle", ink=MUTED))
    for number, each in enumerate(lines):
        parts += _draw_line(each, axis, ys, number, shift=(number - (len(lines) - 1) / 2) * _APART)
    labels = [each.label for each in lines]
    if any(labels):
        parts += legend(labels, right + _RIGHT, _TOP)
    rows = [row for note in notes for row in wrap(note, _NOTE_CHARACTERS)]
    parts += [text(8, bottom + 62 + _NOTE_ROW * i, row, ink=MUTED, size=11) for i, row in enumerate(rows)]
    width = max(
        right + _RIGHT + (38 + max(map(text_width, labels)) if any(labels) else 0),
        8 + max(map(text_width, (y_title, *rows))),
    )
    height = max(bottom + 48 + _NOTE_ROW * len(rows) + (8 if rows else 0), _TOP + LEGEND_ROW * len(lines) + 8)
    return svg_document(width, height, f"{y_title}, by {x_title}", parts)


@dataclass(frozen=True)
class _Axis:
    """Positions of the levels on the x axis."""

    places: dict[Level, float]
    width: int

    @classmethod
    def from_levels(cls, levels: Sequence[Level]) -> "_Axis":
        if not levels or any(isinstance(level, str) for level in levels):
            widest = max((text_width(str(level), 11) for level in levels), default=0)
            width = max(_PLOT_WIDTH, len(levels) * (widest + _BETWEEN_LABELS))
            step = width / max(len(levels), 1)
            return cls({level: _LEFT + step * (i + 0.5) for i, level in enumerate(levels)}, round(width))
        numbers = sorted(float(level) for level in levels)
        is_log = _is_log(numbers)
        ends = (log(numbers[0]), log(numbers[-1])) if is_log else (numbers[0], numbers[-1])
        scale = Scale(*ends, _LEFT + _INSET, _LEFT + _PLOT_WIDTH - _INSET)
        return cls({number: scale.at(log(number) if is_log else number) for number in numbers}, _PLOT_WIDTH)


def _is_log(numbers: Sequence[float]) -> bool:
    return (
        len(numbers) >= _MIN_POINTS_FOR_LOG
        and numbers[0] > 0
        and all(b >= a * _MIN_FACTOR for a, b in pairwise(numbers))
    )


def _level_labels(axis: _Axis, bottom: float) -> list[str]:
    """Return a tick for each level, and a label unless it would overlap the one before."""
    parts = []
    end = float("-inf")
    for level, x in sorted(axis.places.items(), key=lambda item: item[1]):
        label = level if isinstance(level, str) else tick_label(level)
        half = text_width(label, 11) / 2
        parts.append(line(x, bottom, x, bottom + 4, stroke=MUTED))
        if x - half > end:
            parts.append(text(x, bottom + 18, label, anchor="middle", ink=MUTED, size=11))
            end = x + half
    return parts


def _draw_line(each: PlotLine, axis: _Axis, ys: Scale, number: int, shift: float) -> list[str]:
    """Return a line with whiskers and dots, shifted slightly against the other lines."""
    stroke, dash = series_stroke(number)
    points = sorted(each.points, key=lambda point: axis.places[point.level])
    xs = [round(axis.places[point.level] + shift, 1) for point in points]
    parts = [
        line(x1, ys.at(a.value), x2, ys.at(b.value), stroke=stroke, width=2, dash=dash)
        for (x1, a), (x2, b) in pairwise(zip(xs, points, strict=True))
    ]
    for x, point in zip(xs, points, strict=True):
        if point.low is not None and point.high is not None:
            parts.append(line(x, ys.at(point.low), x, ys.at(point.high), stroke=stroke))
        parts.append(f'<circle cx="{x:g}" cy="{ys.at(point.value):g}" r="3.5" fill="{stroke}"/>')
    return parts
