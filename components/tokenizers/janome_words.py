"""Japanese words by Janome, a morphological analyser in plain Python with its dictionary (extra: languages)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import MissingExtraError
from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.jieba_words import ends_of
from components.tokenizers.places import Place, pieces_at, places_in_order, words_at


@cache
def _analyser() -> Any:
    try:
        from janome.tokenizer import Tokenizer
    except ImportError as error:
        raise MissingExtraError("janome", "languages", "language=ja") from error
    return Tokenizer(wakati=True)


def _places(text: str) -> list[Place]:
    return places_in_order(text, list(_analyser().tokenize(text)))


@dataclass(frozen=True)
class JanomeWords:
    """Words as Janome cuts them, for the index and for metrics."""

    version: ClassVar[int] = 1
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("ja",)

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Words of each text; joined they are the text."""
        return [pieces_at(text, _places(text)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Character offsets where the words end, int32."""
        return [ends_of(words) for words in self.tokenize(texts)]

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """One Words per text."""
        return (words_at(text, _places(text)) for text in texts)

    def normalize(self, token: str) -> str:
        """NFKC, lower case; "" for white space and punctuation."""
        return index_term(token)
