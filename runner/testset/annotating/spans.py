"""Where a span lies that somebody marked in a browser.

Label Studio counts code points, but older versions, and what people import into it, count UTF-16 units, of which an
emoji takes two (label-studio issues 1008 and 1347). It writes line breaks of a marked text as a backslash and an "n".
"""

import re
from collections.abc import Iterator

Place = tuple[int, int]

_LINE_BREAK = re.compile(r"\\n|[\r\n]")


def places_of(document: str, start: int, end: int, text: str | None) -> list[Place]:
    """[start, end) in code points, for `start` and `end` in code points or in UTF-16 units: each reading whose slice of
    the document is `text`. Without a text, each that lies in the document.

    None if the document was another one; two if both readings fit, and nothing says which is meant.
    """
    found = dict.fromkeys(_readings(document, start, end))
    return [place for place in found if text is None or _as_marked(document[slice(*place)]) == _as_marked(text)]


def _readings(document: str, start: int, end: int) -> Iterator[Place]:
    if 0 <= start < end <= len(document):
        yield start, end
    units = document.encode("utf-16-le")
    if 0 <= start < end <= len(units) // 2:
        try:
            before, marked = (
                units[2 * first : 2 * last].decode("utf-16-le") for first, last in ((0, start), (start, end))
            )
        except UnicodeDecodeError:  # in the middle of a character
            return
        yield len(before), len(before) + len(marked)


def _as_marked(text: str) -> str:
    return _LINE_BREAK.sub("\n", text)
