"""The text of an HTML page as a reader sees it: one line per block."""

import re
from codecs import lookup
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple

from components.datasets.parsing_time import limit_parsing_time
from components.errors import DataError, MissingExtraError
from components.text.markdown_tables import markdown_row
from components.text.normalize import drop_word_breaks

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import PageElement, Tag

_UNSEEN = ("script", "style", "title", "template", "noscript")
_BLOCKS = (
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "legend",
    "li", "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr",
    "ul",
)  # fmt: skip
_BREAKS = frozenset(("br", *_BLOCKS))
_CELLS = ("td", "th")
_SECTIONS = ("thead", "tbody", "tfoot")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WHITE_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_WEB_NAMES = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252", "gb2312": "gb18030"}
"""Declared encoding -> the encoding that browsers read instead, by the WHATWG's encoding standard."""
_SHOWN = 60
_RAISED = re.compile(r"\s*[-+−–]?\d{1,9}\s*")
_SPAN = re.compile(r"\d{1,4}", re.ASCII)
_MAX_SPAN = 100
"""Maximum number of columns or rows of a cell."""
_MAX_REPEATED_CHARACTERS = 1_000_000
"""Maximum number of characters that repeated cells add to a page. Otherwise a page of spans would fill the memory."""
_MAX_MARKS = 1_000
"""Maximum number of marks of an open comment that are examined."""
_PYTHON_ONLY = frozenset(("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"))
"""Python's encodings that no browser reads. Some take quadratic time, some yield unpaired surrogates."""


class HtmlPage(NamedTuple):
    """The title and the text of a page. A page without a title has the title ""."""

    title: str
    text: str


def read_html(content: bytes, location: str, *, keep_structure: bool = False) -> HtmlPage:
    """Return the text of a page. `location` names the page in errors.

    Blocks (paragraphs, list items, table rows) become lines. A space separates the cells of a row, nothing separates
    inline elements (links, bold text). With `keep_structure`, headings and tables are written as in Markdown, except
    for tables that only lay out a page: those with a table inside, or with a single column.

    Raises DataError if the bytes are not in the encoding that the page declares (UTF-8 by default), or if the page
    takes more than a minute to parse. Raises MissingExtraError without Beautiful Soup.
    """
    try:
        from bs4 import BeautifulSoup
        from bs4.exceptions import ParserRejectedMarkup
    except ImportError as error:
        raise MissingExtraError("bs4", "readers", location) from error
    try:
        with limit_parsing_time(location):  # tags that are never closed take quadratic time
            soup = BeautifulSoup(_strip_open_comment(_decode(content, location)), "html.parser")
            text = "".join(_pieces(soup, keep_structure))
    except ParserRejectedMarkup as error:
        cause = str(error).splitlines()[-1].strip()  # the parser's message, below the library's advice
        raise DataError(f"{location}: cannot be read as HTML ({cause}). Repair the page, or remove it.") from error
    title = _WHITE_SPACE.sub(" ", soup.title.get_text()).strip() if soup.title else ""
    lines = (line.strip() for line in text.split("\n"))
    return HtmlPage(title, "\n".join(line for line in lines if line))


def _strip_open_comment(markup: str) -> str:
    """Remove a comment that is never closed, which extends to the end of the page.

    The parser would remove it too, but search the whole page for the end of every "<!--" in it. In scripts, styles and
    tags, "<!--" begins no comment.
    """
    start, n_read, context = markup.find("<!--", markup.rfind("-->") + 1), 0, _Context()
    for _ in range(_MAX_MARKS):
        if start < 0:
            return markup
        try:
            context.feed(markup[n_read:start])
        except AssertionError:  # the page cannot be parsed, and its reader will say so
            return markup
        n_read = start
        if not context.is_in_tag_or_script:
            break
        start = markup.find("<!--", start + 4)
    return markup[:start]


class _Context(HTMLParser):
    """Parses the beginning of a page and reports whether it ends inside a tag, script or style."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)  # otherwise text without a following tag stays unread

    @property
    def is_in_tag_or_script(self) -> bool:
        """True if the page so far ends inside a tag, script or style."""
        return self.cdata_elem is not None or self.rawdata.startswith("<")


class _Repeats:
    """Budget of the characters that repeated cells may add to a page."""

    def __init__(self) -> None:
        self._n_left = _MAX_REPEATED_CHARACTERS

    def allow(self, text: str) -> bool:
        """Charge the text to the budget. Return False once the budget is exhausted."""
        self._n_left -= len(text) + 3  # and the border of its cell
        return self._n_left >= 0


class _MarkdownRows:
    """The cells of one table of HTML, collected tag by tag and written as rows of Markdown.

    The first row with cells is the head, because Markdown requires one. A cell that spans columns or rows is repeated,
    so that every cell is below its header.
    """

    def __init__(self, repeats: _Repeats) -> None:
        self._repeats = repeats
        self._cells: list[list[str]] = []
        self._spans: list[tuple[int, int]] = []
        self._from_above: dict[int, tuple[int, str]] = {}
        self._n_open = 0
        self._has_head = False

    @property
    def is_in_cell(self) -> bool:
        """True if the following text belongs to a cell."""
        return self._n_open > 0

    def add(self, text: str) -> None:
        """Add text to the last cell."""
        if not self._cells:  # a row that began in the cell has ended the cell's row
            self._begin_cell(1, 1)
        self._cells[-1].append(text)

    def pass_tag(self, tag: "Tag", has_ended: bool) -> str:
        """Return the text that replaces the beginning or the end of a row (tr) or a cell."""
        if tag.name == "tr":
            return self.end_row() if has_ended else "\n"
        self._n_open += -1 if has_ended else 1
        if not has_ended:
            self._begin_cell(_span(tag, "colspan"), _span(tag, "rowspan"))
        return ""

    def _begin_cell(self, n_columns: int, n_rows: int) -> None:
        self._cells.append([])
        self._spans.append((n_columns, n_rows))

    def end_row(self) -> str:
        """Return the current row as a line, followed by the line below the head, or "" if the row has no cells."""
        written = self._in_columns()
        lines = [markdown_row(written)] if written else []
        if written and not self._has_head:
            lines.append(markdown_row(["---"] * len(written)))
            self._has_head = True
        self._cells, self._spans = [], []
        return "\n".join(["", *lines, ""]) if lines else ""

    def end_section(self) -> None:
        """End the cells that continue from above: they do not extend beyond the head, body or foot of a table."""
        self._from_above = {}

    def _in_columns(self) -> list[str]:
        """Return the text of every column of the current row, with the cells that continue from above.

        An empty row has no text, but counts for the cells that continue.
        """
        above, below = self._from_above, dict[int, tuple[int, str]]()
        written: list[str] = []

        def write(text: str, n_rows: int) -> None:
            if n_rows > 1:
                below[len(written)] = n_rows - 1, text
            written.append(text)

        def write_from_above() -> None:
            while len(written) in above and self._repeats.allow(above[len(written)][1]):
                n_rows, text = above[len(written)]
                write(text, n_rows)

        for cell, (n_columns, n_rows) in zip(self._cells, self._spans, strict=True):
            write_from_above()
            text = "".join(cell)
            write(text, n_rows)
            for _ in range(n_columns - 1):
                if self._repeats.allow(text):
                    write(text, n_rows)
        write_from_above()
        self._from_above = below
        return written if self._cells else []


def _pieces(soup: "BeautifulSoup", keep_structure: bool) -> Iterator[str]:
    """Yield the texts of a page, and the line breaks and spaces between them."""
    from bs4.element import Tag

    n_pre, repeats = 0, _Repeats()
    rows: _MarkdownRows | None = None
    for node, has_ended in _walk(soup):
        if not isinstance(node, Tag):
            text = drop_word_breaks(str(node))
            if rows and rows.is_in_cell:
                rows.add(text)
            else:
                yield text if n_pre else _WHITE_SPACE.sub(" ", text)  # a browser shows line breaks as spaces
            continue
        n_pre += (node.name == "pre") * (-1 if has_ended else 1)
        if keep_structure and node.name == "table":
            if rows:  # a table with data contains no other table
                yield rows.end_row()
            rows = _MarkdownRows(repeats) if not has_ended and _holds_data(node) else None
        if rows and node.name in _SECTIONS:
            rows.end_section()
        if rows and node.name in ("tr", *_CELLS):
            yield rows.pass_tag(node, has_ended)
        elif rows and rows.is_in_cell:
            rows.add(" " if node.name in _BREAKS else _power_sign(node, has_ended))
        else:
            yield _separator(node, has_ended, keep_structure)


def _walk(soup: "BeautifulSoup") -> "Iterator[tuple[PageElement, bool]]":
    """Yield each text with False, and each visible element twice: with False at its beginning, with True at its end.

    There is no recursion, because pages can be deeply nested.
    """
    from bs4.element import CData, NavigableString, Tag

    stack: list[tuple[PageElement, bool]] = [(soup, False)]
    while stack:
        node, has_ended = stack.pop()
        if type(node) in (NavigableString, CData):  # comments and other unseen strings are subclasses
            yield node, False
        elif isinstance(node, Tag) and node.name not in _UNSEEN:
            yield node, has_ended
            if not has_ended:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.contents))


def _separator(node: "Tag", has_ended: bool, keep_structure: bool) -> str:
    """Return the whitespace, or mark of a heading, that replaces the beginning or the end of an element."""
    if node.name in _CELLS and not has_ended:
        return " "
    if node.name not in _BREAKS:
        return _power_sign(node, has_ended)
    is_heading = keep_structure and node.name in _HEADINGS and not has_ended and node.get_text(strip=True)
    return f"\n{'#' * int(node.name[1])} " if is_heading else "\n"


def _power_sign(node: "Tag", has_ended: bool) -> str:
    """Return "^" before a raised number, which would otherwise continue the number or word before it; else ""."""
    if node.name != "sup" or has_ended or len(node.contents) != 1:
        return ""
    content = node.contents[0]
    return "^" if isinstance(content, str) and _RAISED.fullmatch(content) else ""


def _span(cell: "Tag", name: str) -> int:
    """Return the number of columns or rows of a cell, 1 if the page gives no valid number."""
    value = str(cell.get(name, ""))
    return min(int(value), _MAX_SPAN) if _SPAN.fullmatch(value) and int(value) else 1


def _holds_data(table: "Tag") -> bool:
    """Return True for a table with a row of several cells. A table inside it, or an unclosed row, makes it False."""
    following = table.find_next("table")  # `find` would first walk to the end of the table
    if following and following.find_parent("table") is table:
        return False
    rows = table.find_all("tr")
    return not any(row.find("tr") for row in rows) and any(len(row.find_all(_CELLS, limit=2)) > 1 for row in rows)


def _decode(content: bytes, location: str) -> str:
    """Decode by byte order mark, declaration, or else as UTF-8. Never guess: a wrong guess changes texts unnoticed."""
    from bs4.dammit import EncodingDetector

    content, by_mark = EncodingDetector.strip_byte_order_mark(content)
    declared = by_mark or EncodingDetector.find_declared_encoding(content, is_html=True)
    encoding = _WEB_NAMES.get((declared or "").lower(), declared) or "utf-8"
    why = f"which it declares as {declared}" if declared else "and it declares no other"
    try:
        if lookup(encoding).name.replace("_", "-") in _PYTHON_ONLY:
            raise LookupError(encoding)
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{location}: byte 0x{content[error.start]:02x} at byte offset {error.start} is not {encoding}, "
            f"{why}, expected a page in UTF-8, or in the encoding that it declares. Convert the file, or correct "
            "its declaration."
        ) from error
    except (LookupError, ValueError) as error:  # the name is not an encoding of text, or contains a NUL
        name = repr((declared or "")[:_SHOWN])
        raise DataError(f"{location}: declares an unknown encoding, {name}. Convert it to UTF-8.") from error
