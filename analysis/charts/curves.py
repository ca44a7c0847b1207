"""Line chart of shares, one line per group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.charts.canvas import (
    LEGEND_ROW,
    LINE,
    MUTED,
    Scale,
    legend,
    line,
    series_stroke,
    svg_document,
    text,
    text_width,
)

_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 48, 12, 420, 220


@dataclass(frozen=True)
class Curve:
    """A line of shares in [0, 1], one for each position on the x axis."""

    label: str
    shares: Sequence[float]


def curves(x_labels: Sequence[str], series: Sequence[Curve], x_title: str, title: str) -> str:
    """Return an SVG with one line per curve over equidistant positions, and a legend on the right."""
    xs = Scale(0, max(len(x_labels) - 1, 1), _LEFT, _LEFT + _PLOT_WIDTH)
    ys = Scale(0.0, 1.0, _TOP + _PLOT_HEIGHT, _TOP)
    bottom = _TOP + _PLOT_HEIGHT
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line(_LEFT, ys.at(share), _LEFT + _PLOT_WIDTH, ys.at(share), stroke=LINE))
        parts.append(text(_LEFT - 6, ys.at(share) + 4, f"{share:.0%}", anchor="end", ink=MUTED, size=11))
    for number, x_label in enumerate(x_labels):
        parts.append(text(xs.at(number), bottom + 16, x_label, anchor="middle", ink=MUTED, size=11))
    parts.append(text(_LEFT + _PLOT_WIDTH / 2, bottom + 34, x_title, anchor="middle", ink=MUTED))
    for number, curve in enumerate(series):
        stroke, dash = series_stroke(number)
        for i, (a, b) in enumerate(pairwise(curve.shares)):
            parts.append(
                line(
                    xs.at(i),
                    ys.at(a),
                    xs.at(i + 1),
                    ys.at(b),
                    stroke=stroke,
                    width=2,
                    dash=dash,
                )
            )
    labels = [curve.label for curve in series]
    right = _LEFT + _PLOT_WIDTH + 20
    parts += legend(labels, right, _TOP)
    width = right + 40 + max(map(text_width, labels), default=0)
    return svg_document(width, max(bottom + 42, _TOP + 8 + len(series) * LEGEND_ROW), title, parts)
