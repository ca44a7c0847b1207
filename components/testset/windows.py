"""Pieces of a text, short enough for a writer to read."""

from bisect import bisect_right
from math import ceil

from components.text.sentences import sentence_ends


def windows(text: str, n_characters: int) -> list[tuple[int, int]]:
    """Split a text into pieces [start, end) of whole sentences and about equal length, at most `n_characters` each.

    Pieces exclude the whitespace around them. A longer sentence is cut. A piece ends with a paragraph if one ends near
    enough. A blank text has no pieces.
    """
    ends = _cut(sentence_ends(text).tolist(), n_characters)
    preferred = len(text) / max(1, ceil(len(text) / n_characters))
    pieces: list[tuple[int, int]] = []
    start, first = 0, 0
    while first < len(ends):
        end = _next_end(text, start, ends[first : bisect_right(ends, start + n_characters)], preferred)
        pieces.append((start, end))
        start, first = end, bisect_right(ends, end)
    return [stripped for piece in pieces if (stripped := _strip(text, *piece))]


def _next_end(text: str, start: int, ends: list[int], preferred: float) -> int:
    """Return the best of the possible ends of a piece."""
    if ends[-1] == len(text) and len(text) - start <= 1.5 * preferred:
        return len(text)
    paragraph_ends = [end for end in ends if end - start >= preferred / 2 and _ends_paragraph(text, start, end)]
    return min(paragraph_ends or ends, key=lambda end: abs(end - start - preferred))


def _ends_paragraph(text: str, start: int, end: int) -> bool:
    """Return True if an empty line follows. The whitespace after a sentence belongs to it."""
    piece = text[max(start, end - 20) : end]
    return piece[len(piece.rstrip()) :].count("\n") > 1


def _cut(ends: list[int], n_characters: int) -> list[int]:
    """Return the ends, with additional ends in sentences that are too long."""
    all_ends: list[int] = []
    start = 0
    for end in ends:
        all_ends += [*range(start + n_characters, end, n_characters), end]
        start = end
    return all_ends


def _strip(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    left, right = len(piece) - len(piece.lstrip()), len(piece.rstrip())
    return (start + left, start + right) if right > left else None
