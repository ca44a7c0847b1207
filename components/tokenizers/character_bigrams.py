"""Overlapping character bigrams for Chinese, Japanese and Korean, and whole words for the rest, without a dictionary.

Lucene's CJKAnalyzer pairs the same characters.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import HAN, find_words, marks
from components.tokenizers.word_spans import Span, slice_words

_JAPANESE = "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
"""Both syllabaries, with their marks of repetition and length."""
_KOREAN = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc"
_PAIRED = f"{HAN}\U00020000-\U0003ffff{_JAPANESE}{_KOREAN}"
_ATTACHED = "\uff9e\uff9f\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Marks of half-width syllables and selectors of a character's shape. They belong to the character before them."""


@cache
def _run() -> "re.Pattern[str]":
    other = rf"[^\W{_PAIRED}]"
    return re.compile(rf"(?P<paired>(?:[{_PAIRED}][{_ATTACHED}]*+)++)|{other}++(?:[{marks()}]++{other}*+)*+")


@cache
def _attached() -> "re.Pattern[str]":
    return re.compile(f"[{_ATTACHED}]")


@cache
def _character() -> "re.Pattern[str]":
    return re.compile(rf".[{_ATTACHED}]*+", re.DOTALL)


@dataclass(frozen=True)
class CharacterBigrams:
    """Bigrams of runs in Chinese, Japanese and Korean: ABCD becomes AB, BC, CD. A single character and words of other
    languages stay whole.
    """

    version: ClassVar[int] = 4
    languages: ClassVar[tuple[str, ...]] = ("zh", "ja", "ko")

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield the words of each text."""
        return find_words(texts, _bigrams)

    def normalize(self, token: str) -> str:
        """Return the word in NFKC and lower case; "" for whitespace and punctuation."""
        return index_term(token)


def _bigrams(text: str) -> Words:
    spans: list[Span] = []
    for run in _run().finditer(text):
        start, end = run.span()
        if not run["paired"] or end - start == 1:
            spans.append((start, end))
        elif not _attached().search(text, start, end):
            spans.extend((position, position + 2) for position in range(start, end - 1))
        else:
            characters = [character.span() for character in _character().finditer(text, start, end)]
            spans.extend([(first, last) for (first, _), (_, last) in pairwise(characters)] or [(start, end)])
    return slice_words(text, spans)
