"""Draws a topic x task matrix.

The SVG is written as text: a sweep draws thousands of matrices, and a drawing library takes a hundred times as long.
The viewer's fonts are used, so that labels may be in any script.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from components.json_value import Json
from components.subsets import AVERAGE
from runner.console.svg import FONTS, is_wide_character, text, text_width

Cell = Mapping[str, Json]

_WIDTH, _HEIGHT, _GAP, _MARGIN, _HEADER = 92, 46, 4, 10, 62
_LINE = 13
_MISSING = "#eeeeee"
_LEGEND = "Third line: pooled with topic and task [95% interval]"


def draw(
    name: str,
    cells: Mapping[tuple[str, str], Cell],
    topics: Sequence[str],
    tasks: Sequence[str],
    labels: Mapping[str, str],
    *,
    scale: tuple[float, float] | None = None,
) -> bytes:
    """Return the SVG (UTF-8) of a heat map. It refers to no other file, and names and labels are escaped.

    A field shows its value, with n in small print, and the partially pooled value with its interval if it has one. The
    averages of rows and columns are behind a gap. Colours run from the lowest to the highest value, or over `scale`.

    `cells` have `value` (or None) and `n` by (topic, task), with AVERAGE for a whole row or column. Pooled fields also
    have `pooled`, `pooled_low` and `pooled_high`.
    """
    row_labels = [find_label(slug, labels) for slug in (*topics, AVERAGE)]
    left = _MARGIN * 2 + max(map(text_width, row_labels))
    xs = _places(left, len(tasks), _WIDTH)
    ys = _places(_HEADER, len(topics), _HEIGHT)
    is_pooled = any(cell.get("pooled") is not None for cell in cells.values())
    width, height = xs[-1] + _WIDTH + _MARGIN, ys[-1] + _HEIGHT + _MARGIN + (_LINE if is_pooled else 0)
    colours = _Colours(scale or [cell["value"] for cell in cells.values() if cell["value"] is not None])
    fields = (
        (x, y, cell)
        for row, y in zip((*topics, AVERAGE), ys, strict=True)
        for column, x in zip((*tasks, AVERAGE), xs, strict=True)
        if (cell := cells.get((row, column))) is not None
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 14}" font-size="16">{text(name)}</text>',
        '<g text-anchor="middle" font-size="11">',
        *(
            line
            for column, x in zip((*tasks, AVERAGE), xs, strict=True)
            for line in _header(find_label(column, labels), x)
        ),
        '</g><g text-anchor="end">',
        *(
            f'<text x="{left - _MARGIN}" y="{y + 27}">{text(label)}</text>'
            for label, y in zip(row_labels, ys, strict=True)
        ),
        '</g><g text-anchor="middle">',
        *(_cell(x, y, cell, colours) for x, y, cell in fields),
        "</g>",
        *([f'<text x="{_MARGIN}" y="{height - _MARGIN + 2}" font-size="9">{_LEGEND}</text>'] if is_pooled else []),
        "</svg>\n",
    ]
    return "\n".join(lines).encode("utf-8")


def find_label(slug: str, labels: Mapping[str, str]) -> str:
    """Return the label of a row or column: its topic or task, as the data set names it."""
    return "All" if slug == AVERAGE else labels.get(slug, slug)


def draw_notice(name: str, *lines: str) -> bytes:
    """Return an SVG (UTF-8) for a heat map that is too large to draw: `lines` say why, and where its values are."""
    width = _MARGIN * 2 + max(map(text_width, (name, *lines)))
    rows = "".join(f'<text x="{_MARGIN}" y="{52 + i * 18}">{text(line)}</text>' for i, line in enumerate(lines))
    height = 52 + len(lines) * 18
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}" font-size="12"><rect width="{width}" height="{height}" fill="white"/>'
        f'<text x="{_MARGIN}" y="24" font-size="16">{text(name)}</text>{rows}</svg>\n'
    ).encode()


class _Colours:
    """Maps values to the colours of viridis, from the lowest to the highest of `values`."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low, self.high = min(values, default=0.0), max(values, default=1.0)
        self.n_decimals = 3 if self.high < 10 else 0
        """Three for shares, none for lengths and tokens."""

    def for_value(self, value: float) -> tuple[str, str]:
        """Return the colours of a field and of the text on it."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return _viridis()[round(share * 255)], "white" if share < 0.6 else "black"


def _cell(x: int, y: int, cell: Cell, colours: _Colours) -> str:
    value = cell["value"]
    fill, ink = (_MISSING, "black") if value is None else colours.for_value(value)
    number = "–" if value is None else f"{value:.{colours.n_decimals}f}"
    middle = x + _WIDTH // 2
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" fill="{fill}"/>'
        f'<text x="{middle}" y="{y + 18}" fill="{ink}">{number}</text>'
        f'<text x="{middle}" y="{y + 29}" fill="{ink}" font-size="8">n={cell["n"]}</text>'
        f"{_pooled_line(cell, colours.n_decimals, middle, y, ink)}"
    )


def _pooled_line(cell: Cell, n_decimals: int, middle: int, y: int, ink: str) -> str:
    """Return the line below n, such as "0.42 [0.31, 0.55]"; "" for an average and for fields that are not pooled."""
    if cell.get("pooled") is None:
        return ""
    value, low, high = (f"{cell[name]:.{n_decimals}f}" for name in ("pooled", "pooled_low", "pooled_high"))
    return f'<text x="{middle}" y="{y + 40}" fill="{ink}" font-size="8">{value} [{low}, {high}]</text>'


def _header(label: str, x: int) -> Iterator[str]:
    """Yield the lines of a column's label, with the last one directly above the fields."""
    lines = _wrap(label)
    for n_below, line in enumerate(reversed(lines)):
        yield f'<text x="{x + _WIDTH // 2}" y="{_HEADER - 6 - n_below * _LINE}">{text(line)}</text>'


def _places(first: int, n: int, size: int) -> list[int]:
    """Return the starts in pixels of n fields in a row, and of the average behind them."""
    return [*range(first, first + n * size, size), first + n * size + _GAP]


@lru_cache(maxsize=10_000)
def _wrap(label: str) -> list[str]:
    """Wrap a label to the width of a field. Scripts without spaces between words break anywhere."""
    is_wide = any(map(is_wide_character, label))
    return textwrap.wrap(label, 8 if is_wide else 14, break_long_words=is_wide)


_ANCHORS = bytes.fromhex(
    """
    440154 45085b 470f62 471669 481d6f 482374 472a79 46307d 453681 433c84 414286 3e4888 3c4d8a 3a538b 37588c
    355d8c 32628d 30678d 2e6c8e 2c718e 2a768e 287a8e 267f8e 24848d 23898d 218d8c 1f928c 1e978a 1e9b89 1ea087
    20a585 23a982 28ae7f 2eb27c 35b778 3dbb74 45bf6f 4fc369 59c764 64cb5d 70ce56 7cd24f 88d547 95d73f a2da37
    afdc2e bdde26 cae01e d7e219 e4e318 f1e51c fde724
    """
)
"""Every fifth of the 256 colours of viridis, by Nathaniel Smith and Stefan van der Walt (CC0)."""


@cache
def _viridis() -> list[str]:
    """Return 256 colours, interpolated between the anchors: within 1 of matplotlib's in every channel."""
    anchors = [_ANCHORS[i : i + 3] for i in range(0, len(_ANCHORS), 3)]
    mixed = [
        bytes(round(a + (b - a) * step / 5) for a, b in zip(low, high, strict=True))
        for low, high in pairwise(anchors)
        for step in range(5)
    ]
    return [f"#{colour.hex()}" for colour in (*mixed, anchors[-1])]
