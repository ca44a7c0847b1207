"""A table as plain texts, with marks on its rows."""

from collections.abc import Sequence
from dataclasses import dataclass

BOLD, STAR = "bold", "star"
"""How a row may be marked."""


@dataclass(frozen=True)
class Marks:
    """What stands out: for each row BOLD, STAR or "", and what either of them means here ("" if there is none)."""

    of_rows: Sequence[str] = ()
    bold: str = ""
    star: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows of plain texts, as many in each as there are `heads`; `starred` is the column that a star is put to."""

    title: str
    heads: Sequence[str]
    are_numbers: Sequence[bool]
    rows: Sequence[Sequence[str]]
    marks: Marks = Marks()

    def mark(self, row: int) -> str:
        """Of a row, "" where rows have none."""
        return self.marks.of_rows[row] if self.marks.of_rows else ""

    @property
    def starred(self) -> int:
        """The column that a star is put to: the first number, which is the value that was tested."""
        return list(self.are_numbers).index(True) if any(self.are_numbers) else 0

    def legend(self) -> list[str]:
        """What the marks mean, of those that occur."""
        meanings = {BOLD: f"Bold: {self.marks.bold}.", STAR: f"*: {self.marks.star}."}
        return [text for mark, text in meanings.items() if mark in self.marks.of_rows]
