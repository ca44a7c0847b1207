"""The text of an HTML page as a reader sees it: one line per block, words unbroken."""

import re
from typing import NamedTuple

from components.errors import DataError, MissingExtraError

_UNSEEN = ("script", "style", "title", "template", "noscript")
_BLOCKS = (
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "legend",
    "li", "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr",
    "ul",
)  # fmt: skip
_CELLS = ("td", "th")
_WHITE_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_WEB_NAMES = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252", "gb2312": "gb18030"}
"""What browsers read instead of a declared encoding, following the WHATWG's encoding standard."""


class HtmlPage(NamedTuple):
    """`title` is "" where the page has none."""

    title: str
    text: str


def read_html(content: bytes, place: str) -> HtmlPage:
    """Blocks (paragraphs, list items, table rows) become lines, the cells of a row are separated by a space, and inline
    elements (links, bold text) by nothing. Raises DataError if the bytes are not in the encoding that the page declares
    (UTF-8 if none), and MissingExtraError.
    """
    try:
        from bs4 import BeautifulSoup
        from bs4.element import NavigableString
    except ImportError as error:
        raise MissingExtraError("bs4", "readers", place) from error
    soup = BeautifulSoup(_decoded(content, place), "html.parser")
    title = _WHITE_SPACE.sub(" ", soup.title.get_text()).strip() if soup.title else ""
    for element in soup(_UNSEEN):
        element.decompose()
    for text in soup.find_all(string=True):  # line breaks in the source are spaces to a reader, save in <pre>
        if type(text) is NavigableString and not text.find_parent("pre"):
            text.replace_with(_WHITE_SPACE.sub(" ", text))
    for element in soup(("br", *_BLOCKS)):
        element.insert_before("\n")
        element.insert_after("\n")
    for element in soup(_CELLS):
        element.insert_before(" ")
    lines = (line.strip() for line in soup.get_text().split("\n"))
    return HtmlPage(title, "\n".join(line for line in lines if line))


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
    except LookupError as error:
        raise DataError(f"{place}: declares an unknown encoding, {declared!r}. Convert it to UTF-8.") from error
