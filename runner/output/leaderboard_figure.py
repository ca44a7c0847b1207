"""Draws the leaderboard.

The SVG is written as text, like the matrices: loading a drawing library would take longer than logging the sweep.
"""

from collections.abc import Sequence

from components.json_value import Json
from components.subsets import OVERALL
from runner.console.svg import FONTS, text, text_width
from runner.results import CellResult, larger_is_better

_BAR, _ROW, _PLOT, _MARGIN, _VALUE = 16, 24, 420, 12, 60


def leaderboard_figure(cells: Sequence[CellResult], axes: Sequence[str], metric: str, limit: int = 40) -> bytes:
    """Return the SVG (UTF-8) of a bar chart: one metric with its interval, for the first `limit` cells with a value."""
    charted = [cell for cell in cells if cell.value(metric) is not None][:limit]
    entries = [cell.metrics[OVERALL][metric] for cell in charted]
    labels = [_label(cell, axes) for cell in charted]
    left = 2 * _MARGIN + max(map(text_width, labels), default=0)
    width, height = left + _PLOT + _VALUE + _MARGIN, 3 * _ROW + _ROW * len(charted)
    ends = [0.0, *(_high(entry) for entry in entries), *(_low(entry) for entry in entries)]
    lowest, highest = min(ends), max(ends)

    def scale(value: float) -> float:
        return round(left + (value - lowest) / ((highest - lowest) or 1) * _PLOT, 1)

    direction = ", smaller is better" if larger_is_better(metric, cells) is False else ""
    cut = f"; the first {len(charted)} of {len(cells)} cells" if len(cells) > len(charted) else ""
    title = f"{metric}{direction}: all samples, 95% interval{cut}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_MARGIN}" y="{_ROW}" font-size="14">{text(title)}</text>',
    ]
    for number, (label, entry) in enumerate(zip(labels, entries, strict=True)):
        y = 2 * _ROW + number * _ROW
        start, end = sorted((scale(0.0), scale(entry["value"])))
        lines += [
            f'<text x="{left - _MARGIN}" y="{y + 13}" text-anchor="end">{text(label)}</text>',
            f'<rect x="{start}" y="{y}" width="{round(end - start, 1)}" height="{_BAR}" fill="#4477aa"/>',
            *_whisker(scale(_low(entry)), scale(_high(entry)), y + _BAR // 2, is_drawn=entry["ci_low"] is not None),
            f'<text x="{scale(_high(entry)) + 6}" y="{y + 13}">{_format(entry["value"])}</text>',
        ]
    return "\n".join([*lines, "</svg>\n"]).encode("utf-8")


def _whisker(low: float, high: float, y: int, *, is_drawn: bool) -> list[str]:
    """Return the path of an interval with its ends, or nothing."""
    if not is_drawn:
        return []
    path = f"M{low} {y - 4}v8M{low} {y}H{high}M{high} {y - 4}v8"
    return [f'<path d="{path}" stroke="#222222" fill="none"/>']


def _format(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"


def _low(entry: Json) -> float:
    return float(entry["value"] if entry["ci_low"] is None else min(entry["ci_low"], entry["value"]))


def _high(entry: Json) -> float:
    return float(entry["value"] if entry["ci_high"] is None else max(entry["ci_high"], entry["value"]))


def _label(cell: CellResult, axes: Sequence[str]) -> str:
    return " ".join(f"{a.split('.')[-1]}={'–' if cell.axes.get(a) is None else cell.axes[a]}" for a in axes)
