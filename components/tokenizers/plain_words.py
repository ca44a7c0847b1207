"""Words of languages with spaces, for metrics: unchanged, without stemming."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.tokenizers.composed_text import word_letters
from components.tokenizers.jieba_words import compute_ends
from components.tokenizers.word_spans import Span, slice_pieces


def word_spans(text: str) -> list[Span]:
    """Return runs of letters and digits, with the points, apostrophes and hyphens inside them."""
    return [word.span() for word in _word().finditer(text)]


@cache
def _word() -> "re.Pattern[str]":
    letters = word_letters()
    return re.compile(rf"{letters}(?:{letters}|[.,'’-](?=[^\W_]))*")


@dataclass(frozen=True)
class PlainWords:
    """Runs of letters and digits (well-known, 1,250.5 and don't are one word each). Other characters stay single."""

    version: ClassVar[int] = 2
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("en", "de", "fr", "es")

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text; joined, they equal the text."""
        return [slice_pieces(text, word_spans(text)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the character offsets where the words end, int32."""
        return [compute_ends(words) for words in self.tokenize(texts)]
