"""The text of an HTML page as a reader sees it: one line per block, words unbroken."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from components.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import PageElement

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


class HtmlPage(NamedTuple):
    """`title` is "" where the page has none."""

    title: str
    text: str


def read_html(content: bytes, place: str, *, keep_headings: bool = False) -> HtmlPage:
    """Blocks (paragraphs, list items, table rows) become lines, the cells of a row are separated by a space, and inline
    elements (links, bold text) by nothing. With `keep_headings` headings are written as in Markdown. Raises DataError
    if the bytes are not in the encoding that the page declares (UTF-8 if none), and MissingExtraError.
    """
    try:
        from bs4 import BeautifulSoup
        from bs4.exceptions import ParserRejectedMarkup
    except ImportError as error:
        raise MissingExtraError("bs4", "readers", place) from error
    try:
        soup = BeautifulSoup(_without_open_comment(_decoded(content, place)), "html.parser")
    except ParserRejectedMarkup as error:
        cause = str(error).splitlines()[-1].strip()  # what the parser said; before it the library's advice
        raise DataError(f"{place}: cannot be read as HTML ({cause}). Mend the page, or remove it.") from error
    title = _WHITE_SPACE.sub(" ", soup.title.get_text()).strip() if soup.title else ""
    lines = (line.strip() for line in "".join(_pieces(soup, keep_headings)).split("\n"))
    return HtmlPage(title, "\n".join(line for line in lines if line))


def _without_open_comment(markup: str) -> str:
    """A comment that is never closed goes to the end of the page. The parser knows, but looks for the end of each."""
    start = markup.find("<!--", markup.rfind("-->") + 1)
    return markup if start < 0 else markup[:start]


def _pieces(soup: "BeautifulSoup", keep_headings: bool) -> Iterator[str]:
    """Texts with the line breaks and spaces between them. One walk without recursion: pages can be deep."""
    from bs4.element import CData, NavigableString, Tag

    n_pre = 0
    stack: list[tuple[PageElement, bool]] = [(soup, False)]
    while stack:
        node, has_ended = stack.pop()
        if type(node) in (NavigableString, CData):  # no comments, nor what else is a kind of string to the parser
            text = str(node)
            yield text if n_pre else _WHITE_SPACE.sub(" ", text)  # line breaks in the source are spaces to a reader
        elif isinstance(node, Tag) and node.name not in _UNSEEN:
            n_pre += (node.name == "pre") * (-1 if has_ended else 1)
            if node.name in _BREAKS:
                yield "\n"
                if keep_headings and node.name in _HEADINGS and not has_ended and node.get_text(strip=True):
                    yield f"{'#' * int(node.name[1])} "
            elif node.name in _CELLS and not has_ended:
                yield " "
            if not has_ended:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.contents))


def _decoded(content: bytes, place: str) -> str:
    """By byte order mark, declaration, or as UTF-8; never guessed: a wrong guess would change texts unnoticed."""
    from bs4.dammit import EncodingDetector

    content, by_mark = EncodingDetector.strip_byte_order_mark(content)
    declared = by_mark or EncodingDetector.find_declared_encoding(content, is_html=True)
    encoding = _WEB_NAMES.get((declared or "").lower(), declared) or "utf-8"
    why = f"which it declares as {declared}" if declared else "and it declares no other"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place}: byte 0x{content[error.start]:02x} at byte offset {error.start} is not {encoding}, {why}. "
            "Wanted: a page in UTF-8, or in the encoding that it declares. Convert the file, or mend its declaration."
        ) from error
    except (LookupError, UnicodeError) as error:  # Python also has "encodings" that are none of text
        raise DataError(f"{place}: declares an unknown encoding, {declared!r}. Convert it to UTF-8.") from error
