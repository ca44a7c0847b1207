"""Spans of words in a text, as the tokenizers of this folder return them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import find_words, word_letters
from components.tokenizers.jieba_words import compute_ends

Span = tuple[int, int]
"""Characters [start, end) of a text."""


class AnalysedWords(ABC):
    """Base of tokenizers that only need to find the spans of words."""

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """Return the spans of the words, in order and without overlaps."""

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text; joined, they equal the text."""
        return [slice_pieces(text, self.spans(text)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the character offsets where the words end, int32."""
        return [compute_ends(words) for words in self.tokenize(texts)]

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield the words of each text."""
        return find_words(texts, lambda text: slice_words(text, self.spans(text)))

    def normalize(self, token: str) -> str:
        """Return the word in NFKC and lower case; "" for whitespace and punctuation."""
        return index_term(token)


def spaced_words(text: str) -> Words:
    """Return the runs of letters and digits, with the points, commas and apostrophes inside them."""
    return slice_words(text, [word.span() for word in _spaced_word().finditer(text)])


@cache
def _spaced_word() -> "re.Pattern[str]":
    letters = word_letters()
    return re.compile(rf"{letters}(?:[.,'’]{letters})*")


def slice_words(text: str, spans: Sequence[Span]) -> Words:
    """Return the words in these spans."""
    bounds = np.array(spans, dtype=np.int32).reshape(-1, 2)
    return Words([text[start:end] for start, end in spans], bounds[:, 0], bounds[:, 1])


def slice_pieces(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the words in non-overlapping spans, and the single characters between them; joined, they equal the
    text.
    """
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += [*text[done:start], text[start:end]]
        done = end
    return [*pieces, *text[done:]]


def spans_in_order(text: str, words: Sequence[str]) -> list[Span]:
    """Return the spans of words that occur in the text in this order. Words that the text does not contain are left
    out.
    """
    spans: list[Span] = []
    done = 0
    for word in words:
        start = text.find(word, done)
        if word.strip() and start >= 0:
            done = start + len(word)
            spans.append((start, done))
    return spans
