"""Pieces of a text that a writer can read in one go."""

from math import ceil

from components.text.sentences import sentence_ends


def windows(text: str, n_characters: int) -> list[tuple[int, int]]:
    """The text in pieces [start, end) of whole sentences and about equal length, at most `n_characters` each, without
    the white space around them; a longer sentence is cut. None for a blank text.
    """
    wanted = ceil(len(text) / max(1, ceil(len(text) / n_characters)))
    found: list[tuple[int, int]] = []
    start = 0
    ends = _cut(sentence_ends(text).tolist(), n_characters)
    for place, end in enumerate(ends):
        following = ends[place + 1] if place + 1 < len(ends) else None
        is_full = following is None or following - start > n_characters or end - start >= wanted
        if is_full:
            found.append((start, end))
            start = end
    return [stripped for piece in found if (stripped := _stripped(text, *piece))]


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
