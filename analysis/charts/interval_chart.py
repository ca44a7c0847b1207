"""A value with its interval as a small picture in a row of a table, which has the numbers in words beside it."""

from analysis.charts.canvas import Scale
from analysis.charts.dots import Dot, mark

WIDTH, _HEIGHT = 150, 16


def interval(row: Dot, low: float, high: float) -> str:
    """SVG, hidden from who cannot see it, on a scale from `low` to `high` that the rows of a table share."""
    scale = Scale(low, high, 4, WIDTH - 4)
    return (
        f'<svg aria-hidden="true" width="{WIDTH}" height="{_HEIGHT}" viewBox="0 0 {WIDTH} {_HEIGHT}">'
        f"{mark(scale, row, _HEIGHT / 2)}</svg>"
    )
