"""Words that are known by their places in a text, as the components of this folder return them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.jieba_words import ends_of

Place = tuple[int, int]
"""[start, end) in characters."""


class AnalysedWords(ABC):
    """A tokenizer that only has to say where the words of a text are."""

    @abstractmethod
    def places(self, text: str) -> list[Place]:
        """Of the words, in order and without overlaps."""

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Words of each text; joined they are the text."""
        return [pieces_at(text, self.places(text)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Character offsets where the words end, int32."""
        return [ends_of(words) for words in self.tokenize(texts)]

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """One Words per text."""
        return (words_at(text, self.places(text)) for text in texts)

    def normalize(self, token: str) -> str:
        """NFKC, lower case; "" for white space and punctuation."""
        return index_term(token)


def words_at(text: str, places: Sequence[Place]) -> Words:
    """The words at some places."""
    bounds = np.array(places, dtype=np.int32).reshape(-1, 2)
    return Words([text[start:end] for start, end in places], bounds[:, 0], bounds[:, 1])


def pieces_at(text: str, places: Sequence[Place]) -> list[str]:
    """The words at places that do not overlap, and the characters between them one by one: joined they are the text."""
    pieces: list[str] = []
    done = 0
    for start, end in places:
        pieces += [*text[done:start], text[start:end]]
        done = end
    return [*pieces, *text[done:]]


def places_in_order(text: str, words: Sequence[str]) -> list[Place]:
    """Where words that occur in the text in this order are; what a segmenter rewrote and the text does not hold is left
    out.
    """
    places: list[Place] = []
    done = 0
    for word in words:
        start = text.find(word, done)
        if word.strip() and start >= 0:
            done = start + len(word)
            places.append((start, done))
    return places
