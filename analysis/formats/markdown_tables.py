"""Tables in Markdown, as GitHub and others show them."""

import re
from collections.abc import Iterable

from analysis.formats.grid import BOLD, STAR, Grid

_SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def table(grid: Grid) -> str:
    """With its title before it and what its marks mean behind it."""
    lines = [
        _row(map(escaped, grid.heads)),
        _row("---:" if is_number else ":---" for is_number in grid.are_numbers),
        *(_row(_marked(grid, place)) for place in range(len(grid.rows))),
    ]
    title = [f"**{escaped(grid.title)}**", ""] if grid.title else []
    return "\n".join([*title, *lines, "", *(f"{note(text)}" for text in grid.legend())])


def note(text: str) -> str:
    """A paragraph."""
    return f"{escaped(text)}\n"


def escaped(text: str) -> str:
    """A text that shows as it is, in one line: no table, no emphasis, no tag comes of it."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(grid: Grid, place: int) -> list[str]:
    cells = [escaped(cell) for cell in grid.rows[place]]
    if grid.mark(place) == BOLD:
        return [f"**{cell}**" if cell else "" for cell in cells]
    if grid.mark(place) == STAR:
        cells[grid.starred] += r"\*"
    return cells
