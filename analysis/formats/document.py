"""A console that writes tables and notes in one of the formats."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rich.text import Text

from analysis.formats import comma_separated, latex
from analysis.formats import markdown_tables as markdown
from analysis.formats.grid import Grid
from runner.console.display import SafeConsole

TERMINAL = "terminal"
_WIDTH = 1_000_000


class TableFormat(NamedTuple):
    """Functions that write a table, and a line outside tables."""

    table: Callable[[Grid], str]
    note: Callable[[str], str]


FORMATS = {
    "markdown": TableFormat(markdown.table, markdown.note),
    "latex": TableFormat(latex.table, latex.note),
    "csv": TableFormat(comma_separated.table, comma_separated.note),
}


class Document(SafeConsole):
    """Standard output in a format. Text outside the tables of a command becomes a note without styles.

    `is_for_print` is true for formats of papers, in which captions stand alone and shares are in percent.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(width=_WIDTH, soft_wrap=True, **options)
        self._format = FORMATS[name]
        self.is_for_print = name == "latex"
        self._has_table = False

    def write_table(self, grid: Grid) -> None:
        """Write the table in one piece, regardless of its width."""
        if self._has_table:
            self._write("")
        self._has_table = True
        self._write(self._format.table(grid))

    def print(self, *objects: object, **options: Any) -> None:
        """Write the text as a note."""
        text = " ".join(each.plain if isinstance(each, Text) else self.render_str(str(each)).plain for each in objects)
        if text and (note := self._format.note(text)):
            self._write(note)

    def _write(self, text: str) -> None:
        super().print(text, markup=False, no_wrap=True, overflow="ignore", crop=False)
