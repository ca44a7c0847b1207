"""Tables of counts of a data set, for the terminal."""

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_HEADER_WIDTH = 12


def print_table(console: Console, title: str, columns: tuple[str, ...], rows: Iterable[Sequence[object]]) -> None:
    """Print a title and rows of texts and numbers. If no column has a name, the table has no header."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=any(columns))
    for i, name in enumerate(columns):
        is_number = i > 0 and name != "kinds"
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(escape(name), justify=justify, max_width=_HEADER_WIDTH if is_number and name else None)
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    console.print()
    console.print(table)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,}"
    return f"{int(value):,}" if isinstance(value, int | float) else escape(str(value))
