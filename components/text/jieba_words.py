"""Chinese (and mixed) word segmentation with jieba, the segmenter of the published Chinese metrics."""

import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.records import Words
from components.text.normalize import index_term


@cache
def _segmenter() -> Any:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    segmenter = jieba.Tokenizer()
    segmenter.initialize()
    return segmenter


@lru_cache(maxsize=50_000)
def _cut(text: str, hmm: bool) -> tuple[str, ...]:
    return tuple(map(sys.intern, _segmenter().cut(text, HMM=hmm)))  # a word is kept once, not once per text


@dataclass(frozen=True)
class JiebaWords:
    """jieba in its precise mode, about 0.6 million characters a second. `hmm` finds words that are not in the
    dictionary.

    White space is kept as tokens of its own. The last 50,000 texts are remembered, since several metrics cut the same
    answers.
    """

    hmm: bool = True

    version: ClassVar[int] = 1
    max_tokens_per_character: ClassVar[int] = 1

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Words of each text; joined they are the text."""
        return [list(_cut(text, self.hmm)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Character offsets where the words end, int32."""
        return [ends_of(_cut(text, self.hmm)) for text in texts]

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """One Words per text."""
        return (words_with_places(words) for words in (self.tokenize([text])[0] for text in texts))

    def normalize(self, token: str) -> str:
        """NFKC, lower case; "" for white space and punctuation."""
        return index_term(token)


def ends_of(tokens: Sequence[str]) -> NDArray[np.int32]:
    """Character offsets where consecutive tokens end, int32[n_tokens]."""
    lengths = np.fromiter(map(len, tokens), dtype=np.int32, count=len(tokens))
    return np.cumsum(lengths, dtype=np.int32)


def words_with_places(words: Sequence[str]) -> Words:
    """Words that follow one another without a gap, with their places."""
    ends = ends_of(words)
    return Words(words, np.append(np.int32(0), ends[:-1]).astype(np.int32)[: len(words)], ends)
