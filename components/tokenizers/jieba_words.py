"""Chinese (and mixed) word segmentation with jieba, the segmenter of the published Chinese metrics."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.records import Words
from components.text.normalize import index_term
from components.tokenizers.composed_text import find_words

_IN_RUN = re.compile(r"[\u4E00-\u9FD5a-zA-Z0-9+#&._%\-]")
_ASCII_WORD = re.compile(r"[a-zA-Z0-9]+")


@lru_cache(maxsize=200_000)
def _is_single(token: str) -> bool:
    """Return True for text that the dictionary leaves as single characters. Without the HMM, jieba joins ASCII
    characters.
    """
    import rjieba

    if len(token) == 1:
        return _IN_RUN.match(token) is not None
    return _ASCII_WORD.fullmatch(token) is not None and not rjieba.has_word(token)


@lru_cache(maxsize=200_000)
def _split_run(run: str) -> tuple[str, ...]:
    """Return the words that jieba's HMM finds in a run of single characters.

    rjieba has the same dictionary and looks up the run itself, because loading jieba's dictionary takes a second.
    """
    import rjieba
    from jieba import finalseg

    if len(run) == 1:
        return (run,)
    return tuple(run) if rjieba.has_word(run) else tuple(finalseg.cut(run))


def _apply_hmm(tokens: Iterable[str]) -> Iterator[str]:
    """Yield the words with the HMM, derived from the words without it: the HMM reads only runs of single characters."""
    for is_single, group in groupby(tokens, _is_single):
        words = list(group)
        yield from _split_run("".join(words)) if is_single else words


def _cut_uncached(text: str, hmm: bool) -> tuple[str, ...]:
    import rjieba

    tokens = rjieba.cut(text, False)
    return tuple(
        map(sys.intern, _apply_hmm(tokens) if hmm else tokens)
    )  # each word is in memory once, not once per text


_cut_answer = lru_cache(maxsize=50_000)(_cut_uncached)
_MAX_ANSWER_CHARACTERS = 1000
"""Longest text to cache. Longer texts are documents, which are split only once."""


def _cut(text: str, hmm: bool) -> tuple[str, ...]:
    return _cut_answer(text, hmm) if len(text) <= _MAX_ANSWER_CHARACTERS else _cut_uncached(text, hmm)


@dataclass(frozen=True)
class JiebaWords:
    """Words of jieba's precise mode, several times as fast: 2 to 3.5 million characters a second instead of 0.6
    million.

    `hmm` finds words that are not in the dictionary. Without the HMM, rjieba segments as jieba does. With it, jieba's
    model is applied to the runs of single characters that rjieba leaves, as in jieba itself. Whitespace is kept as
    separate tokens. The last 50,000 texts of up to 1,000 characters are cached, because several metrics split the same
    answers.
    """

    hmm: bool = True

    version: ClassVar[int] = 2
    max_tokens_per_character: ClassVar[int] = 1
    languages: ClassVar[tuple[str, ...]] = ("zh",)

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text; joined, they equal the text."""
        return [list(_cut(text, self.hmm)) for text in texts]

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the character offsets where the words end, int32."""
        return [compute_ends(_cut(text, self.hmm)) for text in texts]

    def words(self, texts: Sequence[str]) -> Iterator[Words]:
        """Yield the words of each text."""
        return find_words(texts, lambda text: words_with_places(self.tokenize([text])[0]))

    def normalize(self, token: str) -> str:
        """Return the word in NFKC and lower case; "" for whitespace and punctuation."""
        return index_term(token)


def compute_ends(tokens: Sequence[str]) -> NDArray[np.int32]:
    """Return the character offsets where consecutive tokens end, int32[n_tokens]."""
    lengths = np.fromiter(map(len, tokens), dtype=np.int32, count=len(tokens))
    return np.cumsum(lengths, dtype=np.int32)


def words_with_places(words: Sequence[str]) -> Words:
    """Return words that follow one another without gaps, with their offsets."""
    ends = compute_ends(words)
    return Words(words, np.append(np.int32(0), ends[:-1]).astype(np.int32)[: len(words)], ends)
