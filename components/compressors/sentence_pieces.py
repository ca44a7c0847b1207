"""Sentences of passages, and the choice of the best of them within a budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.protocols import Tokenizer
from components.records import CompressedPassages
from components.text.sentences import sentence_ends

Range = tuple[int, int]


@dataclass(frozen=True)
class Sentence:
    """The characters [start, end) of the passage at `passage`. Whitespace after a sentence belongs to it."""

    passage: int
    start: int
    end: int
    text: str


def split_passages(passages: Sequence[str]) -> list[Sentence]:
    """Return the sentences of passages in order, without blank ones."""
    sentences = []
    for number, passage in enumerate(passages):
        ends = sentence_ends(passage).tolist()
        for start, end in zip([0, *ends], ends, strict=False):
            if text := passage[start:end].strip():
                sentences.append(Sentence(number, start, end, text))
    return sentences


def join_sentences(sentences: Iterable[Sentence], n_passages: int) -> CompressedPassages:
    """Return the pieces that sentences of passages form. Sentences in a row are one piece."""
    pieces: list[list[Range]] = [[] for _ in range(n_passages)]
    for sentence in sorted(sentences, key=lambda sentence: (sentence.passage, sentence.start)):
        ranges = pieces[sentence.passage]
        if ranges and ranges[-1][1] == sentence.start:
            ranges[-1] = ranges[-1][0], sentence.end
        else:
            ranges.append((sentence.start, sentence.end))
    return CompressedPassages(tuple(map(tuple, pieces)))


def keep_whole(passages: Sequence[str], unread: str = "", failed: str = "") -> CompressedPassages:
    """Return the passages unchanged."""
    return CompressedPassages(tuple(((0, len(text)),) if text else () for text in passages), unread, failed)


def best_within(n_tokens: NDArray[np.int64], scores: NDArray[np.float32], budget: float) -> list[int]:
    """Return the positions of the best sentences that fit into `budget` tokens together, and at least the best one.

    A sentence that does not fit is left out; smaller ones after it may still fit. Ties go to the earlier sentence.
    """
    chosen: list[int] = []
    remaining = budget
    for position in np.argsort(-scores, kind="stable").tolist():
        if not chosen or n_tokens[position] <= remaining:
            chosen.append(position)
            remaining -= int(n_tokens[position])
    return chosen


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return int64[n_texts], the number of tokens of each text."""
    return np.array([len(ends) for ends in tokenizer.token_ends(texts)], dtype=np.int64)
