"""Texts in any script as tokens: characters where there are no blanks between words, else words and numbers."""

import re
from collections.abc import Iterable

from components.text.containing import form_to_search

_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Chinese characters."""
_TOKEN = re.compile(rf"[{_CHARACTERS}]|[^\W{_CHARACTERS}]+(?:\.\d+)?")
_CHARACTER = re.compile(f"[{_CHARACTERS}]")
_WORD = 2


def tokens(text: str) -> list[str]:
    """In order, in the form in which answers are compared: width, case and punctuation do not count."""
    return _TOKEN.findall(form_to_search(text))


def is_character(token: str) -> bool:
    """Whether it is a Chinese or Japanese character, and no word."""
    return _CHARACTER.match(token) is not None


def n_characters(some: Iterable[str]) -> int:
    """How long tokens are, in Chinese characters: a word counts as two."""
    return sum(1 if is_character(token) else _WORD for token in some)
