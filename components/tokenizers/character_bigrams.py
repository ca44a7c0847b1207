"""Overlapping character bigrams for Chinese, and whole words for the rest. No dictionary is needed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import HAN, find_words, marks
from components.tokenizers.places import Place, words_at


@cache
def _run() -> "re.Pattern[str]":
    return re.compile(rf"(?P<han>[{HAN}]+)|[^\W{HAN}]++(?:[{marks()}]++[^\W{HAN}]*+)*+")


@dataclass(frozen=True)
class CharacterBigrams:
    """Bigrams of Chinese runs: ABCD becomes AB, BC, CD. A single character and other words stay whole."""

    version: ClassVar[int] = 2
    languages: ClassVar[tuple[str, ...]] = ("zh", "ja")

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
        if run["han"] and end - start > 1:
            spans.extend((position, position + 2) for position in range(start, end - 1))
        else:
            spans.append((start, end))
    return words_at(text, spans)
