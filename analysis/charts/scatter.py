"""Quality against cost: a point for each cell, and the Pareto front."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.charts.canvas import (
    ACCENT,
    INK,
    LINE,
    MUTED,
    PALE,
    SOFT,
    Scale,
    line,
    padded_range,
    svg_document,
    text,
    text_width,
    tick_label,
)

_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT, _BOTTOM, _RIGHT = 64, 12, 600, 280, 46, 16
_LABEL = 15
"""Minimum vertical distance of labels, in pixels."""


@dataclass(frozen=True)
class Point:
    """A point with an optional interval of its height. Points on the front are joined by a line and labelled."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    is_on_front: bool = False
    is_strong: bool = False


def scatter(points: Sequence[Point], x_title: str, y_title: str, title: str) -> str:
    """Return an SVG of the points and their front. The x axis starts near the smallest value."""
    xs = Scale(*padded_range(point.x for point in points), _LEFT, _LEFT + _PLOT_WIDTH)
    heights = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    ys = Scale(*padded_range(heights), _TOP + _PLOT_HEIGHT, _TOP)
    front = sorted((point for point in points if point.is_on_front), key=lambda point: point.x)
    bottom = _TOP + _PLOT_HEIGHT
    parts = [*_axes(xs, ys, bottom)]
    parts += [_whisker(xs, ys, point) for point in points]
    parts += [line(xs.at(a.x), ys.at(a.y), xs.at(b.x), ys.at(b.y), stroke=SOFT, width=1.5) for a, b in pairwise(front)]
    parts += [_dot(xs, ys, point) for point in sorted(points, key=lambda point: point.is_on_front)]
    parts += _labels(xs, ys, [point for point in points if point.is_on_front or point.is_strong])
    parts.append(text(_LEFT + _PLOT_WIDTH / 2, bottom + 38, x_title, anchor="middle", ink=MUTED))
    parts.append(text(_LEFT, _TOP - 1, y_title, ink=MUTED, size=11))
    return svg_document(_LEFT + _PLOT_WIDTH + _RIGHT, bottom + _BOTTOM, title, parts)


def _axes(xs: Scale, ys: Scale, bottom: float) -> list[str]:
    parts = []
    for value in ys.ticks():
        y = ys.at(value)
        parts.append(line(_LEFT, y, _LEFT + _PLOT_WIDTH, y, stroke=LINE))
        parts.append(text(_LEFT - 6, y + 4, tick_label(value), anchor="end", ink=MUTED, size=11))
    for value in xs.ticks():
        parts.append(line(xs.at(value), bottom, xs.at(value), bottom + 4, stroke=MUTED))
        parts.append(text(xs.at(value), bottom + 18, tick_label(value), anchor="middle", ink=MUTED, size=11))
    return parts


def _whisker(xs: Scale, ys: Scale, point: Point) -> str:
    if point.low is None or point.high is None:
        return ""
    return line(xs.at(point.x), ys.at(point.low), xs.at(point.x), ys.at(point.high), stroke=PALE)


def _dot(xs: Scale, ys: Scale, point: Point) -> str:
    fill = ACCENT if point.is_on_front else PALE
    radius = 5 if point.is_on_front or point.is_strong else 4
    return f'<circle cx="{xs.at(point.x):g}" cy="{ys.at(point.y):g}" r="{radius}" fill="{fill}"/>'


def _labels(xs: Scale, ys: Scale, points: Sequence[Point]) -> list[str]:
    """Return labels next to their points. A label that would overlap a higher one moves down."""
    parts = []
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda point: ys.at(point.y)):
        width = text_width(point.label)
        is_left = xs.at(point.x) + 8 + width > _LEFT + _PLOT_WIDTH + _RIGHT
        x = xs.at(point.x) + (-8 if is_left else 8)
        start = x - width if is_left else x
        y = ys.at(point.y) + 4
        while any(abs(y - other) < _LABEL and start < end and begin < start + width for begin, end, other in taken):
            y += 1
        taken.append((start, start + width, y))
        parts.append(text(x, y, point.label, anchor="end" if is_left else "start", ink=INK, bold=point.is_strong))
    return parts
