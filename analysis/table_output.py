"""Output of tables to a terminal, a pipe, a file, and in other formats."""

import argparse
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from analysis.formats import BOLD, FORMATS, STAR, TERMINAL, Document, Grid, Marks
from components.errors import DataError
from runner.console import display
from runner.console.display import escape_formula
from runner.console.written_files import write_text

__all__ = [
    "BOLD",
    "STAR",
    "UNKNOWN",
    "Marks",
    "TableColumn",
    "add_format",
    "fitting_table",
    "make_console",
    "make_folder",
    "n_digits",
    "number",
    "show_table",
    "write_beside_results",
    "write_csv",
    "write_text",
]

UNKNOWN = "–"


class TableColumn(NamedTuple):
    """A column's heading and cells. If the terminal is too narrow, `optional` columns are dropped, the last first.

    LaTeX leaves out columns that are `is_id`, because a cell's id has no meaning in a paper.
    """

    head: str
    cells: Sequence[str]
    is_number: bool = True
    optional: bool = False
    is_id: bool = False


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the argument `format` for `make_console`."""
    parser.add_argument(
        "--format",
        choices=(TERMINAL, *FORMATS),
        default=TERMINAL,
        help="output format of tables (default: %(default)s)",
    )


def make_console(name: str = TERMINAL) -> Console:
    """Return a console for standard output in a format. `show_table` and printed lines follow that format."""
    return display.make_console() if name == TERMINAL else Document(name)


def show_table(console: Console, title: str, columns: Sequence[TableColumn], marks: Marks = Marks()) -> None:  # noqa: B008
    """Print the columns that fit, and name those that do not.

    Formats other than the terminal's get all columns and the `marks`. In the terminal, a column of words replaces the
    marks.
    """
    if isinstance(console, Document):
        console.write_table(_grid(title, columns, marks))
        return
    table, dropped = fitting_table(console, title, columns)
    console.print(table)
    if dropped:
        console.print(f"[dim]a wider terminal also shows: {', '.join(dropped)}[/]")


def fitting_table(console: Console, title: str, columns: Sequence[TableColumn]) -> tuple[Table, list[str]]:
    """Return a table of the columns that fit into the terminal, and the headings of the others."""
    fitting = list(columns)
    dropped: list[str] = []
    unbounded = console.options.update(width=10_000)
    while console.measure(_table(title, fitting), options=unbounded).maximum > console.width:
        if not (optional := [column for column in fitting if column.optional]):
            break
        fitting.remove(optional[-1])
        dropped.insert(0, optional[-1].head)
    return _table(title, fitting), dropped


def _grid(title: str, columns: Sequence[TableColumn], marks: Marks) -> Grid:
    """Return the table as texts without the styles of the terminal."""
    plain = display.make_console().render_str
    return Grid(
        plain(title).plain,
        [plain(column.head).plain for column in columns],
        [column.is_number for column in columns],
        [[plain(cell).plain for cell in row] for row in zip(*(column.cells for column in columns), strict=True)],
        marks,
        optional=[index for index, column in enumerate(columns) if column.optional],
        ids=[index for index, column in enumerate(columns) if column.is_id],
    )


def _table(title: str, columns: Sequence[TableColumn]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.head, justify="right" if column.is_number else "left", no_wrap=column.is_number)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of equal columns. Texts that a spreadsheet would read as a formula begin with an apostrophe.

    Raises DataError if the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escape_formula, rows[0]))
    writer.writerows([escape_formula(row[name]) for name in rows[0]] for row in rows)
    write_text(path, text.getvalue())


def write_beside_results(path: Path, text: str) -> None:
    """Write a file into a folder of results, which may come from another user. A link at its path is replaced, not
    followed.

    Raises DataError if the file cannot be written.
    """
    if path.is_symlink():
        path.unlink()
    write_text(path, text)


def make_folder(folder: Path, option: str) -> None:
    """Create the folder that an option names, if it does not exist. Raises DataError if it cannot be created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{option} {folder}: cannot be created ({error.strerror or error}). Choose another folder."
        ) from error


def n_digits(values: Iterable[float]) -> int:
    """Return the number of decimals to show: one if any value is 10 or more, as for lengths and counts, else four."""
    return 1 if max(map(abs, values), default=0.0) >= 10 else 4


def number(value: float | None, digits: int, sign: str = "") -> str:
    """Format a value with `digits` decimals. `sign` "+" always shows the sign. None gives a dash."""
    return UNKNOWN if value is None else f"{value:{sign}.{digits}f}"


def interval(low: float | None, high: float | None, digits: int, sign: str = "") -> str:
    """Format an interval: see `number`. An unknown bound gives a dash."""
    if low is None or high is None:
        return UNKNOWN
    return f"{number(low, digits, sign)} to {number(high, digits, sign)}"
