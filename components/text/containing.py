"""Whether a text contains another one, both in the form in which answers are compared."""

import re
from functools import lru_cache

from components.text.normalize import answer_form

_WITHOUT_BLANKS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Chinese characters: between their words there are no blanks, and a blank beside one says nothing."""
_BLANK_THAT_SAYS_NOTHING = re.compile(rf"(?<=[{_WITHOUT_BLANKS}]) | (?=[{_WITHOUT_BLANKS}])")
_LETTER = rf"[^\W{_WITHOUT_BLANKS}]"
"""Letters and digits of which blanks make words."""


def form_to_search(text: str) -> str:
    """The text's `answer_form`, without blanks beside characters that need none."""
    return _BLANK_THAT_SAYS_NOTHING.sub("", answer_form(text))


def contains(form: str, wording: str) -> bool:
    """Whether whole words of `form` are those of `wording`, both as `form_to_search` gives them: "art" is not in
    "part", 12 neither in 112 nor in 12.5, 3 not in -3. False for an empty wording.
    """
    return bool(wording) and wording in form and _whole_words(wording).search(form) is not None


@lru_cache(maxsize=20_000)
def _whole_words(wording: str) -> re.Pattern[str]:
    # Of the marks, an answer's form keeps the decimal point and the sign of a number alone.
    before = rf"(?<!{_LETTER})(?<![.-])" if re.match(_LETTER, wording) else ""
    after = rf"(?!{_LETTER})(?!\.)" if re.match(_LETTER, wording[-1]) else ""
    return re.compile(before + re.escape(wording) + after)
