"""Korean morphemes by Kiwi (extra: languages): particles and endings are cut off the words that carry the meaning."""

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
from components.tokenizers.places import Place, pieces_at, words_at


@cache
def _analyser() -> Any:
    try:
        from kiwipiepy import Kiwi
    except ImportError as error:
        raise MissingExtraError("kiwipiepy", "languages", "language=ko") from error
    return Kiwi(num_workers=1)


def _places(text: str) -> list[Place]:
    """Where the morphemes are; of those that share characters, such as a contracted ending, the first."""
    places: list[Place] = []
    done = 0
    for token in _analyser().tokenize(text):
        if token.start >= done and token.len > 0:
            done = token.start + token.len
            places.append((token.start, done))
    return places


@dataclass(frozen=True)
class KiwiWords:
    """Morphemes as they are written, for the index and for metrics."""

    version: ClassVar[int] = 1
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("ko",)

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Morphemes of each text; joined they are the text."""
        return [pieces_at(text, _places(text)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Character offsets where the morphemes end, int32."""
        return [ends_of(words) for words in self.tokenize(texts)]

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """One Words per text."""
        return (words_at(text, _places(text)) for text in texts)

    def normalize(self, token: str) -> str:
        """NFKC, lower case; "" for white space and punctuation."""
        return index_term(token)
