"""Tables as CSV: only rows, with the marks in a separate column."""

import csv
import io
import re

from analysis.formats.grid import BOLD, INTERVAL, NUMBER, STAR, Grid
from runner.console.display import escape_formula

UNKNOWN = "\u2013"
_MARKS = {BOLD: "bold", STAR: "*", "": ""}


def table(grid: Grid) -> str:
    """Return the table as CSV. The ends of an interval have a column each, and an unknown value is empty."""
    columns = [column for index, head in enumerate(grid.heads) for column in _columns(grid, index, head)]
    if any(grid.marks.row_marks):
        columns.append(["mark", *(_MARKS[mark] for mark in grid.marks.row_marks)])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().rstrip("\n")


def note(text: str) -> str:
    """Return "", because readers of CSV would take a note for a row."""
    return ""


def _columns(grid: Grid, index: int, head: str) -> list[list[str]]:
    cells = ["" if row[index] == UNKNOWN else row[index] for row in grid.rows]
    pairs = [INTERVAL.fullmatch(cell) for cell in cells]
    if any(pairs) and all(pair or not cell for pair, cell in zip(pairs, cells, strict=True)):
        ends = [[pair[number] if pair else "" for pair in pairs] for number in (1, 2)]
        return [_column(f"{head} {end}", texts) for end, texts in zip(("low", "high"), ends, strict=True)]
    return [_column(head, cells)]


def _column(head: str, cells: list[str]) -> list[str]:
    """Escape texts that begin like a formula. A signed number is not a formula."""
    return [str(escape_formula(head)), *map(_field, cells)]


def _field(cell: str) -> str:
    """Return a number without thousands separators."""
    return cell.replace(",", "") if re.fullmatch(NUMBER, cell) else str(escape_formula(cell))
