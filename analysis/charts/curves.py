"""Shares that grow with something, a line for each group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.charts.canvas import LINE, MUTED, SERIES, Scale, framed, line, text, text_width

_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT, _ROW = 48, 12, 420, 220, 18


@dataclass(frozen=True)
class Curve:
    """Shares in [0, 1], one for each of the chart's places."""

    label: str
    shares: Sequence[float]


def curves(places: Sequence[str], drawn: Sequence[Curve], x_title: str, title: str) -> str:
    """SVG with a line for each curve over places that are equally far apart, and a legend at the right."""
    xs = Scale(0, max(len(places) - 1, 1), _LEFT, _LEFT + _PLOT_WIDTH)
    ys = Scale(0.0, 1.0, _TOP + _PLOT_HEIGHT, _TOP)
    bottom = _TOP + _PLOT_HEIGHT
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line(_LEFT, ys.of(share), _LEFT + _PLOT_WIDTH, ys.of(share), stroke=LINE))
        parts.append(text(_LEFT - 6, ys.of(share) + 4, f"{share:.0%}", anchor="end", ink=MUTED, size=11))
    for number, place in enumerate(places):
        parts.append(text(xs.of(number), bottom + 16, place, anchor="middle", ink=MUTED, size=11))
    parts.append(text(_LEFT + _PLOT_WIDTH / 2, bottom + 34, x_title, anchor="middle", ink=MUTED))
    legend = _LEFT + _PLOT_WIDTH + 20
    for number, curve in enumerate(drawn):
        stroke, dash = SERIES[number % len(SERIES)], "5 4" if number >= len(SERIES) else ""
        for i, (a, b) in enumerate(pairwise(curve.shares)):
            parts.append(line(xs.of(i), ys.of(a), xs.of(i + 1), ys.of(b), stroke=stroke, width=2, dash=dash))
        y = _TOP + 8 + number * _ROW
        parts.append(line(legend, y, legend + 22, y, stroke=stroke, width=3, dash=dash))
        parts.append(text(legend + 30, y + 4, curve.label))
    width = legend + 40 + max((text_width(curve.label) for curve in drawn), default=0)
    return framed(width, max(bottom + 42, _TOP + 8 + len(drawn) * _ROW), title, parts)
