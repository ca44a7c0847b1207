"""Texts in any script as tokens: characters in scripts without spaces between words, else words and numbers."""

import re
from collections.abc import Iterable

from components.text.containing import form_to_search

_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Chinese characters."""
_TOKEN = re.compile(rf"[{_CHARACTERS}]|[^\W{_CHARACTERS}]+(?:\.\d+)?")
_CHARACTER = re.compile(f"[{_CHARACTERS}]")
_WORD = 2


def tokens(text: str) -> list[str]:
    """Return the tokens in order, in the form used to compare answers: width, case and punctuation are ignored."""
    return _TOKEN.findall(form_to_search(text))


def is_character(token: str) -> bool:
    """Return True for a Chinese or Japanese character, False for a word."""
    return _CHARACTER.match(token) is not None


def n_characters(some: Iterable[str]) -> int:
    """Return the length of tokens in Chinese characters: a word counts as two."""
    return sum(1 if is_character(token) else _WORD for token in some)
