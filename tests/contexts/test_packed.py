import pytest

from components.contexts.packed import Order, PackedContext
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.context_contract import CHUNKS, HITS, ContextContract
from tests.contracts.fusion_contract import hits_of


class TestPackedContext(ContextContract):
    component = PackedContext()


class TestSmallBudget(ContextContract):
    component = PackedContext(max_tokens=4, order=Order.BEST_LAST, tokenizer=RjiebaWords())


class TestInCorpusOrder(ContextContract):
    component = PackedContext(order=Order.CORPUS)


WORDS = ("一 二", "一 二 三", "一", "一 二 三 四")
"""Chunks of 3, 5, 1 and 7 words, since white space is a word too."""


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
def test_the_budget_by_hand(max_tokens: int, chosen: list[int], n_tokens: int, n_dropped: int) -> None:
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
def test_order(order: Order, expected: list[int]) -> None:
    assert PackedContext(max_tokens=100, order=order).build(HITS, CHUNKS, 4).chunk[0].tolist() == expected


def test_corpus_order_is_not_best_last() -> None:
    hits = hits_of({1: 3.0, 3: 2.0, 0: 1.0})
    best_last, corpus = (
        PackedContext(order=order).build(hits, CHUNKS, 3).chunk.tolist() for order in (Order.BEST_LAST, Order.CORPUS)
    )
    assert (best_last, corpus) == ([[0, 3, 1]], [[0, 1, 3]])


def test_mistakes() -> None:
    assert PackedContext(0).check() == ["max_tokens: got 0, wanted at least 1"]
