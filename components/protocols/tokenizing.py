"""Words and tokens of texts."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.protocols.component import Component
from components.records import Words


@runtime_checkable
class Tokenizer(Component, Protocol):
    """Splits a text into the units that lengths are counted in."""

    max_tokens_per_character: ClassVar[int]
    """How many tokens a single character can need (1 for words, 4 for byte-level subwords)."""

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Per text, the character offsets where its tokens end: int32, non-decreasing, the last is len(text).

        An empty text gives an empty array.
        """

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Per text, its tokens in order; joined they are the text again."""


@runtime_checkable
class WordTokenizer(Component, Protocol):
    """Splits a text into the words that are indexed; one object serves documents and queries."""

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """One Words per text, lazily."""

    def normalize(self, token: str) -> str:
        """The term that a word is indexed as; "" for one that is not indexed (white space, punctuation, stop word)."""
