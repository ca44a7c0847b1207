"""Tokenizers: components that split text into words or tokens."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.protocols.component import Component
from components.records import Words


@runtime_checkable
class Tokenizer(Component, Protocol):
    """A component that splits text into the units in which lengths are measured."""

    max_tokens_per_character: ClassVar[int]
    """Maximum number of tokens for a single character: 1 for words, 4 for byte-level subwords."""

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return, per text, the character offsets where its tokens end.

        Offsets are int32 and non-decreasing, and the last is len(text). Empty text has an empty array.
        """

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the tokens of each text, in order; joined, they equal the text."""


@runtime_checkable
class WordTokenizer(Component, Protocol):
    """A component that splits text into the words of an index. Documents and queries share one tokenizer."""

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield one Words per text, lazily."""

    def normalize(self, token: str) -> str:
        """Return the term under which a word is indexed, "" for a token that is not indexed (whitespace, punctuation,
        a stop word).
        """
