"""Stacked bar chart of counts by kind, one bar per group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.charts.canvas import PAPER, svg_document, text, text_width

_ROW, _BAR, _MARGIN, _PLOT = 26, 20, 8, 640
_MIN_NUMBERED_SEGMENT = 22


@dataclass(frozen=True)
class BarKind:
    """A kind that is counted. `fill` and `ink` are the CSS colours of its bar and of the number on it."""

    name: str
    label: str
    fill: str
    ink: str


def stacked_bars(bars: Mapping[str, Mapping[str, int]], kinds: Sequence[BarKind], title: str) -> str:
    """Return an SVG with a bar for each label of `bars`, {label: {kind: count}}. Lengths are proportional to the
    counts. Every part has a tooltip.
    """
    longest = max((sum(counts.values()) for counts in bars.values()), default=0) or 1
    left = 2 * _MARGIN + max((text_width(label) for label in bars), default=0)
    parts: list[str] = []
    for number, (label, counts) in enumerate(bars.items()):
        y = _MARGIN + number * _ROW
        parts.append(text(left - _MARGIN, y + 14, label, anchor="end"))
        x = float(left)
        for kind in kinds:
            if n := counts.get(kind.name, 0):
                width = n / longest * _PLOT
                parts.append(_part(x, y, width, n, kind))
                x += width
    return svg_document(left + _PLOT + _MARGIN, 2 * _MARGIN + len(bars) * _ROW, title, parts)


def _part(x: float, y: float, width: float, n: int, kind: BarKind) -> str:
    number = (
        text(round(x + width / 2, 1), y + 14, f"{n:,}", anchor="middle", ink=kind.ink, size=11)
        if width >= _MIN_NUMBERED_SEGMENT
        else ""
    )
    return (
        f'<g><title>{kind.label}: {n:,}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" '
        f'fill="{kind.fill}" stroke="{PAPER}" stroke-width="1"/>{number}</g>'
    )
