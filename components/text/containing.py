"""Whether a text contains another one, both in the form in which answers are compared."""

import re

from components.text.normalize import answer_form

_WITHOUT_BLANKS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Chinese characters: between their words there are no blanks, and a blank beside one says nothing."""
_BLANK_THAT_SAYS_NOTHING = re.compile(rf"(?<=[{_WITHOUT_BLANKS}]) | (?=[{_WITHOUT_BLANKS}])")
_LETTER = re.compile(rf"[^\W{_WITHOUT_BLANKS}]")
"""Letters and digits of which blanks make words."""


def form_to_search(text: str) -> str:
    """The text's `answer_form`, without blanks beside characters that need none."""
    return _BLANK_THAT_SAYS_NOTHING.sub("", answer_form(text))


def contains(form: str, wording: str) -> bool:
    """Whether whole words of `form` are those of `wording`, both as `form_to_search` gives them: "art" is not in
    "part", 12 neither in 112 nor in 12.5, 3 not in -3. False for an empty wording.
    """
    starts_word, ends_word = _LETTER.match(wording), _LETTER.match(wording[-1:])
    start = form.find(wording) if wording else -1
    while start >= 0:
        before, after = form[start - 1 : start] if start else "", form[start + len(wording) : start + len(wording) + 1]
        # Of the marks, an answer's form keeps the decimal point and the sign of a number alone.
        is_part = (starts_word and _goes_on(before, ".-")) or (ends_word and _goes_on(after, "."))
        if not is_part:
            return True
        start = form.find(wording, start + 1)
    return False


def _goes_on(beside: str, marks: str) -> bool:
    """Whether the character beside a word belongs to it; "" is the end of the text."""
    return bool(beside) and (beside in marks or _LETTER.match(beside) is not None)
