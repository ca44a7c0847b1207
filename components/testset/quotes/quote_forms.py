"""Normalized forms of texts for finding quotes, with the positions of the original characters."""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

_MEANINGFUL_MARKS = frozenset("%‰+<>=$€£¥")
"""Marks that carry meaning by themselves."""


class QuoteForm(NamedTuple):
    """A text in another form. Its character i comes from character `places[i]` of the original."""

    text: str
    places: tuple[int, ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return [start, end) in characters of the original; start < end."""
        return self.places[start], self.places[end - 1] + 1


def keep_unchanged(text: str) -> QuoteForm:
    """Return the unchanged text as a form."""
    return QuoteForm(text, tuple(range(len(text))))


@lru_cache(maxsize=128)
def strip_white_space(text: str) -> QuoteForm:
    """Return the text without whitespace and invisible characters, such as zero-width spaces."""
    return _form(text, _visible)


@lru_cache(maxsize=128)
def strip_marks(text: str) -> QuoteForm:
    """Return the text as `fold` does, but keep the case."""
    return _form(text, _strip_marks)


@lru_cache(maxsize=128)
def fold(text: str) -> QuoteForm:
    """Return the text in NFKD, case folded, without whitespace, punctuation, symbols and invisible characters.

    12.5 and 125 become equal, so callers must distinguish them by other means.
    """
    return _form(text, _fold)


def _form(text: str, form_of: Callable[[str], str]) -> QuoteForm:
    pieces = [form_of(character) for character in text]
    return QuoteForm("".join(pieces), tuple(position for position, piece in enumerate(pieces) for _ in piece))


@lru_cache(maxsize=50_000)
def _visible(character: str) -> str:
    return "" if character.isspace() or unicodedata.category(character) in ("Cc", "Cf") else character


@lru_cache(maxsize=50_000)
def _fold(character: str) -> str:
    return _strip_marks(character).casefold()


@lru_cache(maxsize=50_000)
def _strip_marks(character: str) -> str:
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part for part in parts if part in _MEANINGFUL_MARKS or unicodedata.category(part)[0] in "LMN")
