"""Tables in Markdown, in the dialect of GitHub and others."""

import re
from collections.abc import Iterable

from analysis.formats.grid import BOLD, STAR, Grid

_SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def table(grid: Grid) -> str:
    """Return the table, with its title before it and the meanings of its marks after it."""
    lines = [
        _row(map(escape, grid.heads)),
        _row("---:" if is_number else ":---" for is_number in grid.are_numbers),
        *(_row(_marked_cells(grid, row)) for row in range(len(grid.rows))),
    ]
    title = [f"**{escape(grid.title)}**", ""] if grid.title else []
    return "\n".join([*title, *lines, "", *(f"{note(text)}" for text in grid.legend())])


def note(text: str) -> str:
    """Return the text as a paragraph."""
    return f"{escape(text)}\n"


def escape(text: str) -> str:
    """Return a text on one line, with all markup of tables, emphasis and tags escaped."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked_cells(grid: Grid, row: int) -> list[str]:
    cells = [escape(cell) for cell in grid.rows[row]]
    if grid.mark(row) == BOLD:
        return [f"**{cell}**" if cell else "" for cell in cells]
    if grid.mark(row) == STAR:
        cells[grid.starred] += r"\*"
    return cells
