"""The text of an HTML page as a reader sees it: one line per block, words unbroken."""

import re
from codecs import lookup
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from components.datasets.markdown_rows import MarkdownRows
from components.datasets.parsing_time import page_time_limited
from components.errors import DataError, MissingExtraError

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
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WHITE_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_WEB_NAMES = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252", "gb2312": "gb18030"}
"""What browsers read instead of a declared encoding, following the WHATWG's encoding standard."""
_SHOWN = 60
_PYTHON_ONLY = frozenset(("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"))
"""Python's encodings that no browser reads: some take quadratic time, some yield lone surrogates."""


class HtmlPage(NamedTuple):
    """`title` is "" where the page has none."""

    title: str
    text: str


def read_html(content: bytes, place: str, *, keep_structure: bool = False) -> HtmlPage:
    """Blocks (paragraphs, list items, table rows) become lines, the cells of a row are separated by a space, and inline
    elements (links, bold text) by nothing. With `keep_structure` headings and tables are written as in Markdown, save
    tables that only lay a page out: with tables in them, or a single column. Raises DataError if the bytes are not in
    the encoding that the page declares (UTF-8 if none) or if it takes a minute to parse, and MissingExtraError.
    """
    try:
        from bs4 import BeautifulSoup
        from bs4.exceptions import ParserRejectedMarkup
    except ImportError as error:
        raise MissingExtraError("bs4", "readers", place) from error
    try:
        with page_time_limited(place):  # the parser takes quadratic time for tags that are never closed
            soup = BeautifulSoup(_without_open_comment(_decoded(content, place)), "html.parser")
    except ParserRejectedMarkup as error:
        cause = str(error).splitlines()[-1].strip()  # what the parser said; before it the library's advice
        raise DataError(f"{place}: cannot be read as HTML ({cause}). Mend the page, or remove it.") from error
    title = _WHITE_SPACE.sub(" ", soup.title.get_text()).strip() if soup.title else ""
    lines = (line.strip() for line in "".join(_pieces(soup, keep_structure)).split("\n"))
    return HtmlPage(title, "\n".join(line for line in lines if line))


def _without_open_comment(markup: str) -> str:
    """A comment that is never closed goes to the end of the page. The parser knows, but looks for the end of each."""
    start = markup.find("<!--", markup.rfind("-->") + 1)
    return markup if start < 0 else markup[:start]


def _pieces(soup: "BeautifulSoup", keep_structure: bool) -> Iterator[str]:
    """Texts with the line breaks and spaces between them."""
    from bs4.element import Tag

    n_pre = 0
    rows: MarkdownRows | None = None
    for node, has_ended in _walk(soup):
        if not isinstance(node, Tag):
            text = str(node)
            if rows and rows.is_in_cell:
                rows.add(text)
            else:
                yield text if n_pre else _WHITE_SPACE.sub(" ", text)  # line breaks in the source are spaces to a reader
            continue
        n_pre += (node.name == "pre") * (-1 if has_ended else 1)
        if keep_structure and node.name == "table":
            if rows:  # there is no table in one that holds data
                yield rows.ended()
            rows = MarkdownRows() if not has_ended and _holds_data(node) else None
        if rows and node.name in ("tr", *_CELLS):
            yield rows.passed(node.name, has_ended)
        elif rows and rows.is_in_cell:
            rows.add(" " if node.name in _BREAKS else "")
        else:
            yield _between(node, has_ended, keep_structure)


def _walk(soup: "BeautifulSoup") -> "Iterator[tuple[PageElement, bool]]":
    """Texts, and every element that is seen at its beginning and, with True, at its end. Without recursion: pages can
    be deep.
    """
    from bs4.element import CData, NavigableString, Tag

    stack: list[tuple[PageElement, bool]] = [(soup, False)]
    while stack:
        node, has_ended = stack.pop()
        if type(node) in (NavigableString, CData):  # no comments, nor what else is a kind of string to the parser
            yield node, False
        elif isinstance(node, Tag) and node.name not in _UNSEEN:
            yield node, has_ended
            if not has_ended:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.contents))


def _between(node: "Tag", has_ended: bool, keep_structure: bool) -> str:
    """What stands in the place of the beginning or the end of an element."""
    if node.name in _CELLS and not has_ended:
        return " "
    if node.name not in _BREAKS:
        return ""
    is_heading = keep_structure and node.name in _HEADINGS and not has_ended and node.get_text(strip=True)
    return f"\n{'#' * int(node.name[1])} " if is_heading else "\n"


def _holds_data(table: "Tag") -> bool:
    """True if a table has a row of several cells, and neither a table in it nor a row in a row (that is not closed)."""
    following = table.find_next("table")  # no `find`, which walks to the end of the table before it begins
    if following and following.find_parent("table") is table:
        return False
    rows = table.find_all("tr")
    return not any(row.find("tr") for row in rows) and any(len(row.find_all(_CELLS, limit=2)) > 1 for row in rows)


def _decoded(content: bytes, place: str) -> str:
    """By byte order mark, declaration, or as UTF-8; never guessed: a wrong guess would change texts unnoticed."""
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
            f"{place}: byte 0x{content[error.start]:02x} at byte offset {error.start} is not {encoding}, {why}. "
            "Expected: a page in UTF-8, or in the encoding that it declares. Convert the file, or mend its declaration."
        ) from error
    except (LookupError, ValueError) as error:  # no encoding of texts, or a name with a NUL
        shown = repr((declared or "")[:_SHOWN])
        raise DataError(f"{place}: declares an unknown encoding, {shown}. Convert it to UTF-8.") from error
