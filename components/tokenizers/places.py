"""Words that are known by their places in a text, as the components of this folder return them."""

from collections.abc import Sequence

import numpy as np

from components.records import Words

Place = tuple[int, int]
"""[start, end) in characters."""


def words_at(text: str, places: Sequence[Place]) -> Words:
    """The words at some places."""
    bounds = np.array(places, dtype=np.int32).reshape(-1, 2)
    return Words([text[start:end] for start, end in places], bounds[:, 0], bounds[:, 1])


def pieces_at(text: str, places: Sequence[Place]) -> list[str]:
    """The words at places that do not overlap, and the characters between them one by one: joined they are the text."""
    pieces: list[str] = []
    done = 0
    for start, end in places:
        pieces += [*text[done:start], text[start:end]]
        done = end
    return [*pieces, *text[done:]]


def places_in_order(text: str, words: Sequence[str]) -> list[Place]:
    """Where words that occur in the text in this order are; what a segmenter rewrote and the text does not hold is left
    out.
    """
    places: list[Place] = []
    done = 0
    for word in words:
        start = text.find(word, done)
        if word.strip() and start >= 0:
            done = start + len(word)
            places.append((start, done))
    return places
