"""Tables in texts with HTML: their spans, and the texts of their rows."""

import re
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

_WHITE_SPACE = re.compile(r"\s+")


class HtmlRow(NamedTuple):
    """A row at the characters [start, end), with the texts of its cells."""

    start: int
    end: int
    cells: Sequence[str]


class HtmlTable(NamedTuple):
    """A table at the characters [start, end), outside all other tables. Its caption is a row."""

    start: int
    end: int
    rows: Sequence[HtmlRow]


def html_tables(text: str) -> list[HtmlTable]:
    """Return the tables of a text. The text of a nested table belongs to the cell around it.

    A table without an end tag extends to the end of the text. Tables without text are left out.
    """
    if "<table" not in text.lower():
        return []
    reader = _TableReader(text)
    end = text.rfind(">") + 1  # after it, the parser would search to the end for every tag, and find nothing
    reader.feed(text[:end])
    reader.close()
    reader.handle_data(unescape(text[end:]))
    reader.end_table(len(text))
    return reader.tables


class _TableReader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._text = text
        self._depth = 0
        self._start = 0
        self._has_text = False
        self._rows: list[tuple[int, list[list[str]]]] = []
        self.tables: list[HtmlTable] = []

    @property
    def _place(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self._start, self._rows, self._has_text = self._place, [], False
        if self._depth == 1 and tag in ("tr", "caption"):
            self._rows.append((self._place, []))
        if self._depth == 1 and tag in ("td", "th", "caption") and self._rows:
            self._rows[-1][1].append([])

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self._depth:
            if self._depth > 1:
                self._depth -= 1
            else:
                self.end_table(self._text.index(">", self._place) + 1)

    def handle_data(self, data: str) -> None:
        self._has_text |= bool(data.strip())
        if self._depth and self._rows and self._rows[-1][1]:
            self._rows[-1][1][-1].append(data)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Read "<![...>" as a comment, as browsers do. The parser of Python 3.11 stops at unknown sections."""
        return self.parse_bogus_comment(i, report)

    def end_table(self, end: int) -> None:
        """Close the open table, if there is one."""
        is_open, self._depth = self._depth > 0, 0
        if is_open and self._has_text:
            starts = [start for start, _ in self._rows]
            rows = [
                HtmlRow(start, row_end, [_WHITE_SPACE.sub(" ", "".join(cell)).strip() for cell in cells])
                for (start, cells), row_end in zip(self._rows, [*starts[1:], end], strict=False)
            ]
            self.tables.append(HtmlTable(self._start, end, [row for row in rows if row.cells]))
