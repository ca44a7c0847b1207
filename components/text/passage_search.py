"""Places of passages in a corpus: exact ones, and near copies.

A near copy has at least 80% of the passage's characters in one stretch of a document (in runs of 10, ignoring white
space), and 80% of its numbers. This is the rule for copies of gold (`components.gold_copies`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from components.gold_copies import MIN_OVERLAP
from components.records import Documents
from components.text.shared_passages import RUN, Segment, SharedPassages, contained_number_share, segments

_MAX_CANDIDATES = 20
"""Maximum number of documents that are searched for a near copy. Text in more of them is boilerplate."""


@dataclass(frozen=True)
class SoughtPassage:
    """A passage to locate. `hints` are words for its document (an id, a title), and `start` for its place there.

    They only decide between several occurrences.
    """

    text: str
    hints: tuple[str, ...] = ()
    start: int | None = None


class FoundPlace(NamedTuple):
    """The characters [start, end) of a document, given by its position in the corpus."""

    document: int
    start: int
    end: int
    is_exact: bool


def locate_passages(passages: Sequence[SoughtPassage], documents: Documents) -> list[FoundPlace | None]:
    """Return the span of each passage, None if no document contains it.

    Exact places come before near copies, then documents that a hint names, then places at `start`, then the order of
    the corpus. Whitespace at both ends of a passage does not matter. Every document is read a fixed number of times,
    however many passages there are.
    """
    texts = [passage.text.strip() for passage in passages]
    distinct = list(dict.fromkeys(text for text in texts if text))
    with_runs = [text for text in distinct if len("".join(text.split())) >= RUN]
    shared = SharedPassages(with_runs)
    shared.add(documents.texts)
    candidates = {text: _candidates(shared, row) for row, text in enumerate(with_runs)}
    short = [text for text in distinct if text not in candidates]
    candidates |= _find_holders(short, documents)
    named = {name: number for number, name in reversed(list(enumerate(documents.titles)))}
    named |= {name: number for number, name in enumerate(documents.ids)}
    hinted = [next((named[hint] for hint in passage.hints if hint in named), None) for passage in passages]
    sought = [(text, hint, passage.start) for text, hint, passage in zip(texts, hinted, passages, strict=True)]
    places = {
        (text, hint, start): _locate(text, candidates[text], hint, start, documents)
        for text, hint, start in dict.fromkeys(sought)
        if text
    }
    return [places.get(key) for key in sought]


def _candidates(shared: SharedPassages, row: int) -> list[int]:
    """Return the documents that cover enough of a passage, in order."""
    coverage = shared.coverage(row)
    enough = coverage.n_covered >= MIN_OVERLAP * coverage.n_characters
    return [int(document) for document in coverage.documents[enough]]


def _find_holders(texts: Sequence[str], documents: Documents) -> dict[str, list[int]]:
    """Return the documents that contain each text, which is too short for a near copy."""
    held: dict[str, list[int]] = {text: [] for text in texts}
    for row, document in enumerate(documents.texts if texts else ()):
        for text in texts:
            if text in document:
                held[text].append(row)
    return held


def _locate(
    text: str, candidates: Sequence[int], hinted: int | None, start: int | None, documents: Documents
) -> FoundPlace | None:
    ordered = sorted(candidates, key=lambda document: document != hinted)
    for document in ordered:
        if (at := _find_exact(text, documents.texts[document], start if document == hinted else None)) is not None:
            return FoundPlace(document, at, at + len(text), is_exact=True)
    if len("".join(text.split())) < RUN:
        return None
    for document in ordered[:_MAX_CANDIDATES]:
        if span := _find_near(text, documents.texts[document]):
            return FoundPlace(document, *span, is_exact=False)
    return None


def _find_exact(text: str, document: str, start: int | None) -> int | None:
    """Return the first occurrence of a text in a document, or the occurrence at or around `start`."""
    if start is not None and 0 <= (at := document.find(text, max(0, start - len(text)))) <= start + len(text):
        return at
    return at if (at := document.find(text)) >= 0 else None


def _find_near(text: str, document: str) -> tuple[int, int] | None:
    """Return the stretch of a document that contains most of a text; None if no stretch contains enough."""
    pieces = list(segments(text, document))
    if not pieces or contained_number_share(text, document) < MIN_OVERLAP:
        return None
    anchor = max(pieces, key=lambda piece: piece.length)
    within = [piece for piece in pieces if _is_beside(piece, anchor, len(text))]
    n_characters = len("".join(text.split()))
    if sum(piece.length for piece in within) < MIN_OVERLAP * n_characters:
        return None
    return min(piece.place for piece in within), max(piece.place + piece.length for piece in within)


def _is_beside(piece: Segment, anchor: Segment, n_characters: int) -> bool:
    """Return True for a piece near its expected position, given the position of the longest piece."""
    shift = (piece.place - piece.start) - (anchor.place - anchor.start)
    return abs(shift) <= max(RUN, n_characters // 4)
