from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from components.contexts.packed import Order, PackedContext
from components.records import Spans, SpanTexts
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.context_contract import CHUNKS, HITS, ContextContract, chunks_of
from tests.contracts.fusion_contract import hits_of


class TestPackedContext(ContextContract):
    component = PackedContext()


class TestSmallBudget(ContextContract):
    component = PackedContext(max_tokens=4, order=Order.BEST_LAST, tokenizer=RjiebaWords())


class TestInCorpusOrder(ContextContract):
    component = PackedContext(order=Order.CORPUS)


class TestBestAtTheEdges(ContextContract):
    component = PackedContext(order=Order.EDGES_FIRST)


class TestMerged(ContextContract):
    component = PackedContext(merge=True)


class TestWithNeighbours(ContextContract):
    component = PackedContext(window=1, order=Order.BEST_LAST)


WORDS = chunks_of(*([text] for text in ("一 二", "一 二 三", "一", "一 二 三 四")))
"""Chunks of 3, 5, 1 and 7 words, since whitespace is a word too."""


@pytest.mark.parametrize(
    ("max_tokens", "chosen", "n_tokens", "n_dropped"),
    [
        (100, [1, 3, 0, 2], 16, 0),
        (16, [1, 3, 0, 2], 16, 0),
        (15, [1, 3, 0, -1], 15, 1),
        (11, [1, 0, 2, -1], 9, 7),  # the second best does not fit, smaller ones behind it do
        (5, [1, -1, -1, -1], 5, 11),
        (4, [0, 2, -1, -1], 4, 12),
    ],
)
def test_context_budget_equals_hand_computed_choice(
    max_tokens: int, chosen: list[int], n_tokens: int, n_dropped: int
) -> None:
    hits = hits_of({1: 4.0, 3: 3.0, 0: 2.0, 2: 1.0})
    context = PackedContext(max_tokens, tokenizer=RjiebaWords()).build(hits, WORDS, 4)
    assert context.chunk.tolist() == [chosen]
    assert (context.n_tokens.tolist(), context.n_tokens_dropped.tolist()) == ([n_tokens], [n_dropped])


def test_tokens_beyond_top_k_are_not_counted_as_dropped() -> None:
    context = PackedContext(5, tokenizer=RjiebaWords()).build(hits_of({1: 2.0, 3: 1.0}), WORDS, 1)
    assert (context.n_tokens.tolist(), context.n_tokens_dropped.tolist()) == ([5], [0])


@pytest.mark.parametrize(
    ("order", "expected"),
    [(Order.BEST_FIRST, [3, 1, 0, -1]), (Order.BEST_LAST, [0, 1, 3, -1]), (Order.CORPUS, [0, 1, 3, -1])],
)
def test_context_arranges_passages_in_the_requested_order(order: Order, expected: list[int]) -> None:
    assert PackedContext(max_tokens=100, order=order).build(HITS, CHUNKS, 4).chunk[0].tolist() == expected


def test_corpus_order_is_not_best_last() -> None:
    hits = hits_of({1: 3.0, 3: 2.0, 0: 1.0})
    best_last, corpus = (
        PackedContext(order=order).build(hits, CHUNKS, 3).chunk.tolist() for order in (Order.BEST_LAST, Order.CORPUS)
    )
    assert (best_last, corpus) == ([[0, 3, 1]], [[0, 1, 3]])


@pytest.mark.parametrize(("n", "expected"), [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (6, [0, 2, 4, 5, 3, 1])])
def test_edges_first_order_puts_the_worst_passage_in_the_middle(n: int, expected: list[int]) -> None:
    chunks = chunks_of(*([letter] for letter in "abcdef"))
    hits = hits_of({chunk: float(-chunk) for chunk in range(n)}, depth=6)
    context = PackedContext(order=Order.EDGES_FIRST).build(hits, chunks, 6)
    assert context.chunk.tolist() == [expected + [-1] * (6 - n)]


TALE = chunks_of(["一 ", "二 二 ", "三 ", "四 ", "五 ", "六"], ["七 ", "八"])
"""Two documents of six and of two chunks. Each character is a word, and so is each blank."""


@pytest.mark.parametrize(
    ("fields", "best_first", "chosen"),
    [
        ({"merge": True}, [1, 6, 2, 4], [1, 2, 6, 4]),  # 1 and 2 are one passage, in the place of the better
        ({"merge": True}, [4, 3, 0], [3, 4, 0]),
        ({"merge": True, "order": Order.BEST_LAST}, [1, 6, 2, 4], [4, 6, 1, 2]),
        ({"window": 1}, [6, 3], [6, 7, 2, 3, 4]),  # no neighbour from another document
        ({"window": 1}, [0, 3], [0, 1, 2, 3, 4]),  # the windows touch
        ({"window": 2}, [5, 0], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_adjacent_chunks_are_merged_into_one_passage(
    fields: dict[str, Any], best_first: list[int], chosen: list[int]
) -> None:
    hits = hits_of({chunk: float(-place) for place, chunk in enumerate(best_first)})
    (row,) = PackedContext(**fields).build(hits, TALE, len(best_first)).chunk.tolist()
    assert [chunk for chunk in row if chunk >= 0] == chosen


def test_context_budget_counts_overlapping_text_once() -> None:
    """Overlapping chunks state shared text once, and a passage beyond the limit is dropped as a whole."""
    spans = Spans(*np.array([[0, 0, 4], [0, 2, 6], [1, 0, 3]], dtype=np.int32).T)
    chunks = SpanTexts(["一二三四五六", "七八九"], spans)
    hits = hits_of({0: 3.0, 2: 2.0, 1: 1.0})

    def counted(max_tokens: int) -> tuple[list[int], int, int]:
        context = PackedContext(max_tokens, tokenizer=CharacterTokens(), merge=True).build(hits, chunks, 3)
        (row,), (taken,), (dropped,) = (
            column.tolist() for column in (context.chunk, context.n_tokens, context.n_tokens_dropped)
        )
        return row, taken, dropped

    assert counted(9) == ([0, 1, 2], 9, 0)
    assert counted(8) == ([0, 1, -1], 6, 3)
    assert counted(5) == ([2, -1, -1], 3, 6)


@dataclass(frozen=True)
class CharacterTokens:
    """Each character is a token."""

    version: ClassVar[int] = 1
    max_tokens_per_character: ClassVar[int] = 1

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        return [np.arange(1, len(text) + 1, dtype=np.int32) for text in texts]

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [list(text) for text in texts]


def test_packed_context_rejects_zero_tokens_and_a_negative_window() -> None:
    assert PackedContext(0).check() == ["max_tokens: got 0, expected at least 1"]
    assert PackedContext(window=-1).check() == ["window: got -1, expected at least 0"]
