"""A language model that grades one hit at a time."""

from collections.abc import Sequence
from typing import Any

import pytest

from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, HitOrder, Request
from components.rerankers.pointwise import Pointwise
from tests.contracts.list_reranker_contract import ListRerankerContract


def pointwise(**fields: Any) -> Pointwise:
    own = {"system": "", "instruction": "{question}\n{passage}", "reminder": "Once more.", "grades": (0, 1, 2)}
    return Pointwise(**{"llm": Scripted(), **own, **fields})


class TestContract(ListRerankerContract):
    component = pointwise()

    def reply(self, request: Request) -> str:
        return f'{{"grade": {len(request.passages[0].text) % 3}}}'


def ranked(replies: Sequence[str]) -> HitOrder:
    """Return the order of hits whose texts are the model's replies; "error" is a failed request."""

    def ask(requests: Sequence[Request]) -> list[Answer]:
        texts = [request.passages[0].text for request in requests]
        return [
            Answer(request.id, AnswerState.ERROR, error="HTTP 500")
            if text == "error"
            else Answer(request.id, AnswerState.OK, text)
            for request, text in zip(requests, texts, strict=True)
        ]

    (order,) = pointwise().rank(["q"], [replies], ask)
    return order


def test_graded_hits_are_sorted_and_ties_keep_their_order() -> None:
    assert ranked(['{"grade": 0}', '{"grade": 2}', "1", '{"grade": 2}', '{"grade": 0}']).order == (1, 3, 2, 0, 4)


def test_hit_without_a_grade_keeps_its_place() -> None:
    order = ranked(['{"grade": 0}', "I cannot.", '{"grade": 1}', '{"grade": 3}', '{"grade": 2}'])
    assert order.order == (4, 1, 2, 3, 0)
    assert "cannot be read" in order.unread
    assert order.failed == ""
    order = ranked(['{"grade": 0}', "error", '{"grade": 1}'])
    assert (order.order, order.unread, order.failed) == ((2, 1, 0), "", "HTTP 500")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"depth": 0}, "depth: got 0"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
        ({"grades": (1, 1)}, "grades: got [1, 1], expected at least two"),
        ({"instruction": "{passage}"}, "instruction: lacks the placeholder {question}"),
    ],
)
def test_pointwise_reranker_rejects_invalid_settings(fields: dict[str, Any], problem: str) -> None:
    (found,) = pointwise(**fields).check()
    assert found.startswith(problem)
