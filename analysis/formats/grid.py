"""A table as plain texts, with marks on its rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

BOLD, STAR = "bold", "star"
"""How a row may be marked."""

NUMBER = r"[+-]?\d[\d,]*\.?\d*%?"
INTERVAL = re.compile(f"({NUMBER}) ({NUMBER})")
"""The ends of an interval, as a cell has them."""


@dataclass(frozen=True)
class Marks:
    """What stands out: for each row BOLD, STAR or "", and what either of them means here ("" if there is none)."""

    of_rows: Sequence[str] = ()
    bold: str = ""
    star: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows of plain texts, as many in each as there are `heads`; `starred` is the column that a star is put to.

    `optional` are places of columns that a narrow format drops, `ids` those of columns that only name a cell.
    """

    title: str
    heads: Sequence[str]
    are_numbers: Sequence[bool]
    rows: Sequence[Sequence[str]]
    marks: Marks = Marks()
    optional: Sequence[int] = ()
    ids: Sequence[int] = ()

    def mark(self, row: int) -> str:
        """Of a row, "" where rows have none."""
        return self.marks.of_rows[row] if self.marks.of_rows else ""

    def is_optional(self, column: int) -> bool:
        """Whether a narrow format drops it first."""
        return column in self.optional

    def is_id(self, column: int) -> bool:
        """Whether it only names cells."""
        return column in self.ids

    @property
    def starred(self) -> int:
        """The column that a star is put to: the first number, which is the value that was tested."""
        return list(self.are_numbers).index(True) if any(self.are_numbers) else 0

    def legend(self) -> list[str]:
        """What the marks mean, of those that occur."""
        meanings = {BOLD: f"Bold: {self.marks.bold}.", STAR: f"*: {self.marks.star}."}
        return [text for mark, text in meanings.items() if mark in self.marks.of_rows]
