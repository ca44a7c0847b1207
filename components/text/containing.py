"""Search for a text in another one, both in the form in which answers are compared."""

import re

from components.text.normalize import answer_form

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Chinese characters. Their words are not separated by spaces, so a space next to one has no meaning."""
_MEANINGLESS_SPACE = re.compile(rf"(?<=[{_UNSPACED}]) | (?=[{_UNSPACED}])")
_LETTER = re.compile(rf"[^\W{_UNSPACED}]")
"""Letters and digits whose words are separated by spaces."""


def form_to_search(text: str) -> str:
    """Return the text's `answer_form`, without spaces next to characters that need none."""
    return _MEANINGLESS_SPACE.sub("", answer_form(text))


def contains(form: str, wording: str) -> bool:
    """Return True if `form` contains `wording` as whole words, both in the form of `form_to_search`.

    "art" is not in "part", 12 neither in 112 nor in 12.5, and 3 not in -3. An empty wording is not contained.
    """
    starts_word, ends_word = _LETTER.match(wording), _LETTER.match(wording[-1:])
    start = form.find(wording) if wording else -1
    while start >= 0:
        before, after = form[start - 1 : start] if start else "", form[start + len(wording) : start + len(wording) + 1]
        # The only marks in an answer's form are the decimal point and the sign of a number.
        is_part = (starts_word and _belongs_to_word(before, ".-")) or (ends_word and _belongs_to_word(after, "."))
        if not is_part:
            return True
        start = form.find(wording, start + 1)
    return False


def _belongs_to_word(beside: str, marks: str) -> bool:
    """Return True if the character next to a word belongs to the word; "" is the end of the text."""
    return bool(beside) and (beside in marks or _LETTER.match(beside) is not None)
