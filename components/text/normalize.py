"""Normal forms of text: for indexing, and for comparing answers."""

import unicodedata
from functools import cache


def is_word_character(character: str) -> bool:
    """True for letters, marks, digits and other numbers: not for white space, punctuation, symbols or control
    characters.
    """
    return unicodedata.category(character)[0] in "LNM"


def index_term(token: str) -> str:
    """NFKC and lower case; "" for a token without a letter or digit, so that white space and punctuation are not
    indexed.
    """
    term = unicodedata.normalize("NFKC", token).strip().lower()
    return term if any(map(is_word_character, term)) else ""


@cache
def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def answer_form(text: str) -> str:
    """The form in which answers are compared: NFKC, lower case, punctuation and symbols removed, white space collapsed.

    Full-width punctuation and digits become ASCII by NFKC before punctuation is removed.
    """
    text = unicodedata.normalize("NFKC", text).lower()
    return " ".join(
        "".join(
            " " if character.isspace() else character for character in text if not _is_punctuation(character)
        ).split()
    )


def whole_characters(text: str) -> str:
    """The text with halves of characters joined, or U+FFFD in place of one that is alone: what a file can hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
