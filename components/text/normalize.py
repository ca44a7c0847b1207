"""Normal forms of text, for indexing and for comparing answers."""

import re
import unicodedata
from functools import lru_cache

from components.text.numbers import mark_numbers, restore_numbers


def is_word_character(character: str) -> bool:
    """Return True for letters, marks, digits and other numbers.

    Whitespace, punctuation, symbols and control characters are not word characters.
    """
    return unicodedata.category(character)[0] in "LNM"


_WORD_BREAKS = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Soft hyphens and spaces without a width: places where a line may end, not characters of a word."""


def drop_word_breaks(text: str) -> str:
    """Return the text without soft hyphens and zero-width spaces, which would split words."""
    return _WORD_BREAKS.sub("", text)


@lru_cache(maxsize=100_000)
def index_term(token: str) -> str:
    """Return the token in NFKC and lower case, without invisible characters inside it.

    A token without a letter or digit becomes "" and is not indexed.
    """
    term = unicodedata.normalize("NFKC", drop_word_breaks(token)).strip().lower()
    return term if any(map(is_word_character, term)) else ""


class _VisibleCharacters(dict[int, str | None]):
    """Mapping for `str.translate` that removes unseen characters and turns whitespace into a space.

    Punctuation, symbols and format characters (such as the zero-width space) count as unseen. A character is looked up
    at its first use.
    """

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        unseen = category[0] in "PS" or category == "Cf"
        self[code] = None if unseen else " " if character.isspace() else character
        return self[code]


_VISIBLE = _VisibleCharacters()


ANSWER_FORM_VERSION = 4
"""Part of the version of all results that depend on `answer_form`. Raise it whenever the form of any text changes."""


def answer_form(text: str) -> str:
    """Return the form in which answers are compared: NFKC, lower case, without punctuation and symbols, whitespace
    collapsed.

    NFKC turns full-width punctuation and digits into ASCII before punctuation is removed. Numbers keep their value (see
    `mark_numbers`): 12.5 keeps its point, -3 its sign, 1,000 becomes 1000, and 1/2 becomes two numbers.
    """
    return _recent_answer_form(text) if len(text) <= _MAX_ANSWER_CHARACTERS else _answer_form(text)


def _answer_form(text: str) -> str:
    text = mark_numbers(unicodedata.normalize("NFKC", text).lower())
    return restore_numbers(" ".join(text.translate(_VISIBLE).split()))


_MAX_ANSWER_CHARACTERS = 1000
"""Longest text to cache: metrics and cells share the forms of equal answers. Longer texts are documents."""
_recent_answer_form = lru_cache(maxsize=20_000)(_answer_form)


def whole_characters(text: str) -> str:
    """Return the text with surrogate pairs joined, and lone surrogates replaced by U+FFFD, so that it can be written to
    files.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
