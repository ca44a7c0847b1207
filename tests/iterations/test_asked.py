"""Searches for texts that a language model writes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from components.iterations.asked import AskedSearches
from components.iterations.none import OneSearch
from components.llms.scripted import Scripted
from components.protocols import IterativeSearch, SingleSearch
from components.records import Answer, AnswerState, NextSearch, Passage, Request, SearchTrail
from tests.contracts.component_contract import ComponentContract
from tests.contracts.iteration_contract import IterationContract

FORM = '{question}\n{passages}\n{steps}\n{"thought": "a thought", "next": "query", "done": false}'


def asked_searches(**fields: Any) -> AskedSearches:
    return AskedSearches(**{"llm": Scripted(), "system": "", "instruction": FORM, "reminder": "Once more.", **fields})


class TestAskedSearches(IterationContract):
    component = asked_searches()

    def reply(self, request: Request) -> str:
        return '{"next": "who built it", "done": false}'


class TestAskedSearchesWithThoughts(IterationContract):
    component = asked_searches(with_thoughts=True)

    def reply(self, request: Request) -> str:
        return '<think>hm</think>{"thought": "It lacks a name.", "next": "who built it", "done": false}'


class TestOneSearch(ComponentContract):
    component = OneSearch()

    def test_single_search_implements_only_its_own_protocol(self) -> None:
        assert isinstance(self.component, SingleSearch)
        assert not isinstance(self.component, IterativeSearch)


TRAIL = SearchTrail(
    "earlier\nWho built it?", ((Passage("It  is\nold.", "Mill"), Passage("Red.")),), (NextSearch("a b"),)
)


def decided(*replies: str, **fields: Any) -> tuple[NextSearch, list[Request]]:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(request.id, AnswerState.OK, replies[len(asked) - 1]) for request in requests]

    (own,) = asked_searches(**fields).decide([TRAIL], ask)
    return own, asked


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"next": " who \n built ", "done": False}, NextSearch("who built")),
        ({"next": "who built"}, NextSearch("who built")),
        ({"next": "", "done": True}, NextSearch("")),
        ({"done": "true"}, NextSearch("")),
        ({"next": "The mill is old.", "done": True}, NextSearch("", "The mill is old.")),
        ({"next": "A  B", "done": False}, NextSearch("", "A B")),
        ({"next": "who built IT?", "done": False}, NextSearch("", "who built IT?")),
    ],
)
def test_reply_names_the_next_search_or_ends_them(reply: dict[str, object], expected: NextSearch) -> None:
    own, asked = decided(json.dumps(reply))
    assert own == expected
    assert asked[0].messages[-1].content.startswith("earlier\nWho built it?\n[1] Mill: It is old.\n[2] Red.\na b\n")


def test_thoughts_precede_their_queries_among_the_steps() -> None:
    own, asked = decided('{"thought": "A name is missing.", "next": "builder", "done": false}', with_thoughts=True)
    assert own == NextSearch("builder", "A name is missing.")
    assert asked[0].json_schema is not None
    trail = SearchTrail("q", ((),), (own, NextSearch("owner", "Now the owner.")))
    shown: list[str] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        shown.extend(request.messages[-1].content for request in requests)
        return [Answer(request.id, AnswerState.OK, '{"done": true}') for request in requests]

    asked_searches(with_thoughts=True).decide([trail], ask)
    assert shown[0].startswith("q\n-\nA name is missing.\nbuilder\nNow the owner.\nowner\n")


@pytest.mark.parametrize(
    "wrong",
    [
        '{"next": "", "done": false}',
        '{"next": "query"}',
        '{"next": 3}',
        '{"x": "y"}',
        "builder",
        '{"done": "?"}',
        f'{{"next": "{"q" * 2001}"}}',
    ],
)
def test_unreadable_search_reply_is_retried_then_ends_the_search(wrong: str) -> None:
    own, asked = decided(wrong, '{"next": "builder"}', max_attempts=2)
    assert own == NextSearch("builder")
    assert asked[1].messages[-1].content == "Once more."
    own, asked = decided(wrong, wrong, max_attempts=2)
    assert (own.query, len(asked)) == ("", 2)
    assert "cannot be read" in own.unread


def test_asked_searches_reject_invalid_settings() -> None:
    assert asked_searches(instruction="{question}{steps}").check() == ["instruction: lacks the placeholder {passages}"]
    for wrong in ({"max_searches": 1}, {"n_passages": 0}, {"max_attempts": 0}):
        assert len(asked_searches(**wrong).check()) == 1
