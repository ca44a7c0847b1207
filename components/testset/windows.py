"""Pieces of a text that a writer can read in one go."""

from bisect import bisect_right
from math import ceil

from components.text.sentences import sentence_ends


def windows(text: str, n_characters: int) -> list[tuple[int, int]]:
    """The text in pieces [start, end) of whole sentences and about equal length, at most `n_characters` each, without
    the white space around them; a longer sentence is cut. Where a paragraph ends near enough, a piece ends with it.
    None for a blank text.
    """
    ends = _cut(sentence_ends(text).tolist(), n_characters)
    wanted = len(text) / max(1, ceil(len(text) / n_characters))
    found: list[tuple[int, int]] = []
    start, first = 0, 0
    while first < len(ends):
        end = _next_end(text, start, ends[first : bisect_right(ends, start + n_characters)], wanted)
        found.append((start, end))
        start, first = end, bisect_right(ends, end)
    return [stripped for piece in found if (stripped := _stripped(text, *piece))]


def _next_end(text: str, start: int, ends: list[int], wanted: float) -> int:
    """The best of the places at which a piece may end."""
    if ends[-1] == len(text) and len(text) - start <= 1.5 * wanted:
        return len(text)
    of_paragraphs = [end for end in ends if end - start >= wanted / 2 and _ends_paragraph(text, start, end)]
    return min(of_paragraphs or ends, key=lambda end: abs(end - start - wanted))


def _ends_paragraph(text: str, start: int, end: int) -> bool:
    """Whether an empty line follows: the white space behind a sentence belongs to it."""
    piece = text[max(start, end - 20) : end]
    return piece[len(piece.rstrip()) :].count("\n") > 1


def _cut(ends: list[int], n_characters: int) -> list[int]:
    """The ends with further ones in sentences that are too long."""
    found: list[int] = []
    start = 0
    for end in ends:
        found += [*range(start + n_characters, end, n_characters), end]
        start = end
    return found


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    left, right = len(piece) - len(piece.lstrip()), len(piece.rstrip())
    return (start + left, start + right) if right > left else None
