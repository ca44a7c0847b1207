"""The number of searches that a language model expects."""

from collections.abc import Sequence
from typing import Any

import pytest

from components.iterations.adaptive import AdaptiveSearches
from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, NextSearch, Request, SearchTrail
from tests.contracts.iteration_contract import TRAILS, IterationContract
from tests.iterations.test_asked import asked_searches


def adaptive(**fields: Any) -> AdaptiveSearches:
    own = {"llm": Scripted(), "system": "", "instruction": "How often? {question}", "reminder": "Once more."}
    return AdaptiveSearches(**{**own, "then": asked_searches(max_searches=4, n_passages=2), **fields})


class TestAdaptiveSearches(IterationContract):
    component = adaptive()
    first = (NextSearch("q", "several"),)

    def reply(self, request: Request) -> str:
        return '{"next": "who built it", "done": false}'

    def test_adaptive_searches_take_limits_from_the_inner_searches(self) -> None:
        assert (self.component.max_searches, self.component.n_passages) == (4, 2)
        assert self.component.decides_first


QUESTION = SearchTrail("Who built it?", (), ())


def first(*replies: str, state: AnswerState = AnswerState.OK) -> tuple[NextSearch, int]:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(request.id, state, replies[len(asked) - 1], error="broken") for request in requests]

    (own,) = adaptive().decide([QUESTION], ask)
    assert asked[0].messages[-1].content == "How often? Who built it?"
    return own, len(asked)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"searches": "none"}', NextSearch("", "none")),
        ('{"searches": "One"}', NextSearch("Who built it?", "one")),
        ('{"searches": "several"}', NextSearch("Who built it?", "several")),
        ("several", NextSearch("Who built it?", "several")),
    ],
)
def test_question_class_decides_about_the_first_search(reply: str, expected: NextSearch) -> None:
    assert first(reply) == (expected, 1)


def test_adaptive_searches_a_question_without_a_readable_class_once() -> None:
    own, n_asked = first('{"searches": "many"}', "two", "?")
    assert (own.query, own.thought, n_asked) == ("Who built it?", "one", 3)
    assert "cannot be read" in own.unread
    own, n_asked = first("", state=AnswerState.ERROR)
    assert (own.query, own.thought, own.failed, n_asked) == ("Who built it?", "one", "broken", 1)


def test_only_questions_classified_as_several_are_searched_again() -> None:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(request.id, AnswerState.OK, '{"next": "more"}') for request in requests]

    steps = [NextSearch("q", "one"), NextSearch("q", "several"), NextSearch("q", "one")]
    trails = [SearchTrail(own.question, own.passages, (step,)) for own, step in zip(TRAILS, steps, strict=True)]
    end = NextSearch("", is_asked=False)
    assert adaptive().decide(trails, ask) == [end, NextSearch("more"), end]
    assert len(asked) == 1
    assert "several" not in asked[0].messages[-1].content


def test_adaptive_searches_reject_invalid_settings() -> None:
    assert adaptive(instruction="How often?").check() == ["instruction: lacks the placeholder {question}"]
    assert adaptive(max_attempts=0).check()
    (problem,) = adaptive(llm=Scripted(reply="x")).check()
    assert problem.startswith("then.llm: differs from llm")
