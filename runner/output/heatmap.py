"""A topic x task matrix as a picture.

Drawn with Pillow: a sweep draws thousands of these, and matplotlib takes several times as long for the same rectangles.
"""

import io
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from components.subsets import AVERAGE

Cell = Mapping[str, Any]

_SCALE = 2
_WIDTH, _HEIGHT, _GAP, _MARGIN, _HEADER = (_SCALE * size for size in (92, 34, 4, 10, 62))
_MISSING = (238, 238, 238)


def draw(
    name: str,
    cells: Mapping[tuple[str, str], Cell],
    topics: Sequence[str],
    tasks: Sequence[str],
    labels: Mapping[str, str],
) -> bytes:
    """PNG of a heat map: values in the cells with n in small print, the averages of rows and columns behind a gap.

    `cells` hold `value` (or None) and `n` by (topic, task), with AVERAGE for a whole row or column.
    """
    from PIL import Image, ImageDraw

    rows, columns = [*topics, AVERAGE], [*tasks, AVERAGE]
    row_labels = [_label(slug, labels) for slug in rows]
    left = _MARGIN * 2 + max(int(_font(12).getlength(label)) for label in row_labels)
    size = (left + _WIDTH * len(columns) + _GAP + _MARGIN, _HEADER + _HEIGHT * len(rows) + _GAP + _MARGIN)
    image = Image.new("RGB", size, "white")
    canvas = ImageDraw.Draw(image)
    canvas.text((_MARGIN, _MARGIN), name, font=_font(16), fill="black")
    colour = _Colours([cell["value"] for cell in cells.values() if cell["value"] is not None])
    for j, column in enumerate(columns):
        x = left + j * _WIDTH + (_GAP if column == AVERAGE else 0)
        header = "\n".join(textwrap.wrap(_label(column, labels), 14, break_long_words=False))
        canvas.text((x + _WIDTH / 2, _HEADER - _GAP), header, font=_font(11), fill="black", anchor="md", align="center")
        for i, row in enumerate(rows):
            y = _HEADER + i * _HEIGHT + (_GAP if row == AVERAGE else 0)
            _draw_cell(canvas, (x, y), cells.get((row, column)), colour)
    for i, label in enumerate(row_labels):
        middle = _HEADER + (i + 0.5) * _HEIGHT + (_GAP if rows[i] == AVERAGE else 0)
        canvas.text((left - _MARGIN, middle), label, font=_font(12), fill="black", anchor="rm")
    buffer = io.BytesIO()
    image.quantize(128, method=Image.Quantize.FASTOCTREE).save(buffer, format="png")
    return buffer.getvalue()


class _Colours:
    """Maps values to the colours of viridis, from the lowest to the highest of one picture."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low, self.high = min(values, default=0.0), max(values, default=1.0)

    def of(self, value: float) -> tuple[tuple[int, int, int], str]:
        """The colour of a cell, and that of the text on it."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return _viridis()[round(share * 255)], "white" if share < 0.6 else "black"

    @property
    def n_decimals(self) -> int:
        """Three for shares, none for lengths and tokens."""
        return 3 if self.high < 10 else 0


def _draw_cell(canvas: Any, corner: tuple[int, int], cell: Cell | None, colours: _Colours) -> None:
    if cell is None:
        return
    x, y = corner
    value = cell["value"]
    fill, ink = (_MISSING, "black") if value is None else colours.of(value)
    canvas.rectangle((x, y, x + _WIDTH - 1, y + _HEIGHT - 1), fill=fill)
    text = "–" if value is None else f"{value:.{colours.n_decimals}f}"
    canvas.text((x + _WIDTH / 2, y + _HEIGHT * 0.4), text, font=_font(12), fill=ink, anchor="mm")
    canvas.text((x + _WIDTH / 2, y + _HEIGHT * 0.8), f"n={cell['n']}", font=_font(8), fill=ink, anchor="mm")


@cache
def _font(size: int) -> Any:
    """DejaVu Sans as it comes with matplotlib: Latin, Greek, Cyrillic; no Chinese."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", size * _SCALE)


@cache
def _viridis() -> list[tuple[int, int, int]]:
    import matplotlib as mpl

    return [tuple(int(255 * channel) for channel in mpl.colormaps["viridis"](i)[:3]) for i in range(256)]  # type: ignore[misc]


def _label(slug: str, labels: Mapping[str, str]) -> str:
    """The readable label; the slug where the label needs characters that the font lacks."""
    label = "All" if slug == AVERAGE else labels.get(slug, slug)
    return label if label.isascii() else slug
