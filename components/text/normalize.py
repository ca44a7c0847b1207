"""Normal forms of text: for indexing, and for comparing answers."""

import unicodedata
from functools import lru_cache

from components.text.numbers import mark_numbers, restore_numbers


def is_word_character(character: str) -> bool:
    """True for letters, marks, digits and other numbers: not for white space, punctuation, symbols or control
    characters.
    """
    return unicodedata.category(character)[0] in "LNM"


@lru_cache(maxsize=100_000)
def index_term(token: str) -> str:
    """NFKC and lower case; "" for a token without a letter or digit, so that white space and punctuation are not
    indexed.
    """
    term = unicodedata.normalize("NFKC", token).strip().lower()
    return term if any(map(is_word_character, term)) else ""


class _Shown(dict[int, str | None]):
    """For `str.translate`: characters that are not shown (punctuation, symbols, and format characters such as the
    zero-width space) go away, white space is a blank. Characters are looked up when they are first met.
    """

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        unseen = category[0] in "PS" or category == "Cf"
        self[code] = None if unseen else " " if character.isspace() else character
        return self[code]


_SHOWN = _Shown()


ANSWER_FORM_VERSION = 4
"""A part of the version of whatever keeps results that depend on `answer_form`, the forms of answers themselves among
them: it is raised here whenever a text gets another form.
"""


def answer_form(text: str) -> str:
    """The form in which answers are compared: NFKC, lower case, punctuation and symbols removed, white space collapsed.

    NFKC turns full-width punctuation and digits into ASCII before punctuation is removed. Numbers keep their value, as
    `mark_numbers` tells it: 12.5 its point and -3 its sign; 1,000 becomes 1000, and 1/2 two numbers.
    """
    return _recent_answer_form(text) if len(text) <= _LONGEST_ANSWER else _answer_form(text)


def _answer_form(text: str) -> str:
    text = mark_numbers(unicodedata.normalize("NFKC", text).lower())
    return restore_numbers(" ".join(text.translate(_SHOWN).split()))


_LONGEST_ANSWER = 1000
"""Several metrics ask for the form of an answer, and cells of a sweep give equal ones; longer texts are documents."""
_recent_answer_form = lru_cache(maxsize=20_000)(_answer_form)


def whole_characters(text: str) -> str:
    """The text with surrogate halves joined, or replaced by U+FFFD where one is alone: what a file can hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
