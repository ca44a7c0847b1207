"""Small chart of a value and its interval for one row of a table, whose other columns state the numbers."""

from analysis.charts.canvas import Scale
from analysis.charts.dots import Dot, mark

WIDTH, _HEIGHT = 150, 16


def interval(row: Dot, low: float, high: float) -> str:
    """Return an SVG on a scale from `low` to `high`, which all rows of a table share. Screen readers skip it."""
    scale = Scale(low, high, 4, WIDTH - 4)
    return (
        f'<svg aria-hidden="true" width="{WIDTH}" height="{_HEIGHT}" viewBox="0 0 {WIDTH} {_HEIGHT}">'
        f"{mark(scale, row, _HEIGHT / 2)}</svg>"
    )
