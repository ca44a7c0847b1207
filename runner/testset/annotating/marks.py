"""Turns passages that people marked in a browser into the gold of a sample.

Label Studio counts code points. Older versions, and texts that people import into it, count UTF-16 units, two for an
emoji (label-studio issues 1008 and 1347). It writes line breaks of a marked text as a backslash and an "n".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.records import Evidence, Sample

Place = tuple[int, int]

_SHOWN_CHARACTERS = 40
_LINE_BREAK = re.compile(r"\\n|[\r\n]")


@dataclass(frozen=True)
class Mark:
    """A marked range of a document, with its text if that was recorded. Offsets may be in UTF-16 units."""

    document: str
    start: int
    end: int
    text: str | None


def make_gold(
    sample: Sample, marks: Sequence[Mark], texts: Mapping[str, str]
) -> tuple[tuple[Evidence, ...], list[str]]:
    """Return the gold that results from the marks, and descriptions of the marks that cannot be placed.

    Units that are still marked, and whole documents, which people cannot mark, keep their place in the order. New
    units follow, ordered by document and place.
    """
    known = {(unit.document_id, unit.start, unit.end): unit for unit in sample.gold}
    marked: set[tuple[str, int, int]] = set()
    problems = []
    for mark in marks:
        spans = [(mark.document, *span) for span in find_ranges(texts[mark.document], mark.start, mark.end, mark.text)]
        meant = [span for span in spans if span in known] or spans
        if len(meant) == 1:
            marked.add(meant[0])
        else:
            location = f"[{mark.start}, {mark.end}) of document {mark.document!r}"
            text = "without its text" if mark.text is None else repr(mark.text[:_SHOWN_CHARACTERS])
            problem = "matches several spans" if meant else "does not match the text there"
            problems.append(f"the mark at {location} ({text}) {problem}")
    stays = [unit for span, unit in known.items() if unit.start is None or span in marked]
    new = [Evidence(*span) for span in sorted(marked - known.keys())]
    return (*stays, *new), problems


def find_ranges(document: str, start: int, end: int, text: str | None) -> list[Place]:
    """Return the ranges in code points that `start` and `end` may mean, as code points or as UTF-16 units.

    A reading counts if its slice of the document is `text`, or without a text if it is within the document. The list is
    empty if the document changed. It has two ranges if both readings fit.
    """
    readings = dict.fromkeys(_readings(document, start, end))
    return [span for span in readings if text is None or _as_marked(document[slice(*span)]) == _as_marked(text)]


def _readings(document: str, start: int, end: int) -> Iterator[Place]:
    if 0 <= start < end <= len(document):
        yield start, end
    units = document.encode("utf-16-le")
    if 0 <= start < end <= len(units) // 2:
        try:
            before, marked = (
                units[2 * first : 2 * last].decode("utf-16-le") for first, last in ((0, start), (start, end))
            )
        except UnicodeDecodeError:  # the offset is in the middle of a character
            return
        yield len(before), len(before) + len(marked)


def _as_marked(text: str) -> str:
    return _LINE_BREAK.sub("\n", text)
