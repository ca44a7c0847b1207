"""Words of languages with spaces, for metrics: unchanged, without stemming."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.tokenizers.jieba_words import ends_of
from components.tokenizers.places import Place, pieces_at

_WORD = re.compile(r"[^\W_](?:[^\W_]|[.,'’-](?=[^\W_]))*")


def word_spans(text: str) -> list[Place]:
    """Return runs of letters and digits, with the points, apostrophes and hyphens inside them."""
    return [word.span() for word in _WORD.finditer(text)]


@dataclass(frozen=True)
class PlainWords:
    """Runs of letters and digits (well-known, 1,250.5 and don't are one word each). Other characters stay single."""

    version: ClassVar[int] = 1
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("en", "de", "fr", "es")

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text; joined, they equal the text."""
        return [pieces_at(text, word_spans(text)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the character offsets where the words end, int32."""
        return [ends_of(words) for words in self.tokenize(texts)]
