"""A language model that orders several hits per request."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, Request
from components.rerankers.listwise import Listwise, read_ranking
from tests.contracts.list_reranker_contract import ListRerankerContract
from tests.runner.sweeping import compose_job

LETTERS = tuple("ihgfedcba")


def listwise(**fields: Any) -> Listwise:
    own = {"system": "", "instruction": "{question}\n{passages}\n{n}", "reminder": "Once more.", "window": 3, "step": 2}
    return Listwise(**{"llm": Scripted(), **own, **fields})


def alphabetical(request: Request) -> str:
    """The passages of a request in the order of their texts."""
    texts = [passage.text for passage in request.passages]
    return json.dumps({"ranking": [texts.index(text) + 1 for text in sorted(texts)]})


class TestContract(ListRerankerContract):
    component = listwise()

    def reply(self, request: Request) -> str:
        return alphabetical(request)


def ranked(reranker: Listwise, hits: Sequence[str] = LETTERS) -> tuple[str, list[str]]:
    """The hits in their new order, and what each request showed."""
    shown = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        shown.extend("".join(passage.text for passage in request.passages) for request in requests)
        return [Answer(request.id, AnswerState.OK, alphabetical(request)) for request in requests]

    (order,) = reranker.rank(["q"], [hits], ask)
    return "".join(hits[place] for place in order.order), shown


def test_rerank_windows_move_from_the_last_hits_to_the_first() -> None:
    order, shown = ranked(listwise(window=4, step=2))
    assert shown == ["dcba", "feab", "hgab", "iab"]
    assert order == "abighefcd"


def test_last_rerank_window_reaches_the_first_hit() -> None:
    for n_hits in range(2, 10):
        order, shown = ranked(listwise(), LETTERS[-n_hits:])
        assert order[0] == "a"
        assert shown[-1].startswith(LETTERS[-n_hits])


def test_window_of_two_reranks_like_bubble_sort() -> None:
    two = {"window": 2, "step": 1}
    assert ranked(listwise(**two, passes=1))[0] == "aihgfedcb"
    assert ranked(listwise(**two, passes=3))[0] == "abcihgfed"
    assert ranked(listwise(**two, passes=8))[0] == "abcdefghi"
    assert listwise(**two, passes=3).n_requests(9) == 24


def test_rerank_requests_of_all_queries_are_sent_together() -> None:
    calls = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        calls.append(len(requests))
        return [Answer(request.id, AnswerState.OK, alphabetical(request)) for request in requests]

    orders = listwise().rank(["p", "q", "r"], [LETTERS, LETTERS[:3], LETTERS[:5]], ask)
    assert calls == [3, 2, 1, 1]
    assert [order.order[0] for order in orders] == [8, 2, 4]


def test_unreadable_window_reply_is_retried_then_keeps_its_order() -> None:
    requests_of_q: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        requests_of_q.extend(requests)
        first = requests[0].passages[0].text
        text = (
            "I cannot." if "c" in {p.text for p in requests[0].passages} and first != "i" else alphabetical(requests[0])
        )
        return [Answer(requests[0].id, AnswerState.OK, text)]

    (order,) = listwise(window=5, step=4, max_attempts=2).rank(["q"], [LETTERS], ask)
    assert [len(request.messages) for request in requests_of_q] == [1, 3, 1]
    assert requests_of_q[1].messages[-1].content == "Once more."
    assert "I cannot." in order.unread
    assert "".join(LETTERS[place] for place in order.order) == "efghidcba"


def test_query_with_a_failed_rerank_request_is_not_asked_again() -> None:
    calls = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        calls.append([request.id for request in requests])
        return [Answer(request.id, AnswerState.ERROR, error="HTTP 500") for request in requests]

    (order,) = listwise().rank(["q"], [LETTERS], ask)
    assert len(calls) == 1
    assert (order.failed, order.unread, order.order) == ("HTTP 500", "", tuple(range(9)))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"ranking": [3, 1, 2]}', [2, 0, 1]),
        ('```json\n{"ranking": ["2", "3", "1"]}\n```', [1, 2, 0]),
        ("<think>[1] > [2] > [3]</think> [2] > [1] > [3]", [1, 0, 2]),
        ("The order is 3 > 2 > 1.", [2, 1, 0]),
        ("[2, 1, 3]", [1, 0, 2]),
        ('As 1 > 2 would be wrong: {"ranking": [3, 2, 1]}', [2, 1, 0]),
        ('{"ranking": [3]}', [2, 0, 1]),
        ("[3] > [1]", [2, 0, 1]),
        ('{"ranking": [1, 2, 2]}', None),
        ('{"ranking": [0, 1, 2]}', None),
        ('{"ranking": [1, 2, 4]}', None),
        ('{"ranking": ["first", 2, 3]}', None),
        ('{"ranking": []}', None),
        ('{"ranking": "3"}', None),
        ("[2]", None),
        ("[1] > [2] > [4]", None),
        ("None of them helps.", None),
        ("", None),
    ],
)
def test_rerank_orders_are_read_from_replies(reply: str, expected: list[int] | None) -> None:
    assert read_ranking(reply, 3) == expected


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"depth": 1}, "depth: got 1, expected at least 2"),
        ({"window": 1, "step": 1}, "window: got 1, expected at least 2"),
        ({"step": 3}, "step: got 3, expected less than window=3"),
        ({"step": 0}, "step: got 0"),
        ({"passes": 0}, "passes: got 0"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
        ({"instruction": "{question}"}, "instruction: lacks the placeholder {passages}"),
    ],
)
def test_listwise_reranker_rejects_invalid_settings(fields: dict[str, Any], problem: str) -> None:
    (found,) = listwise(**fields).check()
    assert found.startswith(problem)


@pytest.mark.parametrize("option", ["llm_listwise", "llm_pairwise", "llm_pointwise"])
def test_reranker_wording_follows_the_language(option: str) -> None:
    wordings = {
        language: compose_job(f"reranker={option}", "reranker.llm.model=m", f"language={language}").config["reranker"]
        for language in ("zh", "en", "de")
    }
    assert wordings["de"] == wordings["en"]
    assert {name for name in wordings["en"] if wordings["en"][name] != wordings["zh"][name]} == {
        "system",
        "instruction",
        "reminder",
    }
