"""Tables as plain texts, with marks on their rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

BOLD, STAR = "bold", "star"
"""Marks of a row."""

NUMBER = r"[+-]?\d[\d,]*\.?\d*%?"
INTERVAL = re.compile(f"({NUMBER}) ({NUMBER})")
"""The ends of an interval in the text of a cell."""


@dataclass(frozen=True)
class Marks:
    """Marks of rows: BOLD, STAR or "" for each row, and the meanings of BOLD and STAR ("" if unused)."""

    row_marks: Sequence[str] = ()
    bold: str = ""
    star: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows of plain texts, with one text per item of `heads`.

    `optional` are the indices of columns that narrow formats drop, `ids` the indices of columns that only name a cell.
    """

    title: str
    heads: Sequence[str]
    are_numbers: Sequence[bool]
    rows: Sequence[Sequence[str]]
    marks: Marks = Marks()
    optional: Sequence[int] = ()
    ids: Sequence[int] = ()

    def mark(self, row: int) -> str:
        """Return the mark of a row, "" if rows have none."""
        return self.marks.row_marks[row] if self.marks.row_marks else ""

    def is_optional(self, column: int) -> bool:
        """Return True if narrow formats drop the column first."""
        return column in self.optional

    def is_id(self, column: int) -> bool:
        """Return True if the column only names cells."""
        return column in self.ids

    @property
    def starred(self) -> int:
        """The column of the stars: the first number, which is the tested value."""
        return list(self.are_numbers).index(True) if any(self.are_numbers) else 0

    def legend(self) -> list[str]:
        """Return the meanings of the marks that occur."""
        meanings = {BOLD: f"Bold: {self.marks.bold}.", STAR: f"*: {self.marks.star}."}
        return [text for mark, text in meanings.items() if mark in self.marks.row_marks]
