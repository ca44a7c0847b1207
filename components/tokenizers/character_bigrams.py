"""Overlapping character bigrams for Chinese, Japanese and Korean, and whole words for the rest, without a dictionary.

Lucene's CJKAnalyzer pairs the same characters.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import HAN, find_words, marks
from components.tokenizers.places import Place, words_at

_JAPANESE = "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
"""Both syllabaries, with their marks of repetition and length."""
_KOREAN = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_PAIRED = f"{HAN}\U00020000-\U0003ffff{_JAPANESE}{_KOREAN}"


@cache
def _run() -> "re.Pattern[str]":
    return re.compile(rf"(?P<paired>[{_PAIRED}]+)|[^\W{_PAIRED}]++(?:[{marks()}]++[^\W{_PAIRED}]*+)*+")


@dataclass(frozen=True)
class CharacterBigrams:
    """Bigrams of runs in Chinese, Japanese and Korean: ABCD becomes AB, BC, CD. A single character and words of other
    languages stay whole.
    """

    version: ClassVar[int] = 3
    languages: ClassVar[tuple[str, ...]] = ("zh", "ja", "ko")

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield the words of each text."""
        return find_words(texts, _bigrams)

    def normalize(self, token: str) -> str:
        """Return the word in NFKC and lower case; "" for white space and punctuation."""
        return index_term(token)


def _bigrams(text: str) -> Words:
    spans: list[Place] = []
    for run in _run().finditer(text):
        start, end = run.span()
        if run["paired"] and end - start > 1:
            spans.extend((position, position + 2) for position in range(start, end - 1))
        else:
            spans.append((start, end))
    return words_at(text, spans)
