"""Requests to models that pass no limiter by themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from components.openai_server.breaker import Health
from components.openai_server.limiter import Attempt, Tokens
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Kind, Message, Request, Sample
from runner.engine.spending.admission import admit_requests


@dataclass(frozen=True)
class Model:
    """Gives the same answer to all requests."""

    answer: Answer
    max_new_tokens: int = 50

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        return (self.answer for _ in requests)


@dataclass
class OpenLimiter:
    """Admits every request, and records what was used."""

    used: list[Tokens | None] = field(default_factory=list)

    def admit(self, attempt: Attempt) -> float:
        return 0.0

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        self.used.append(used)

    def withdraw(self, attempt: Attempt) -> None:
        raise AssertionError("what passes no server is never withdrawn")

    def hold(self, account: object, seconds: float) -> None:
        raise AssertionError("nobody asks to wait")

    def health(self, endpoint: str) -> Health:
        raise AssertionError("nobody calls a server")


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        (Answer("q", AnswerState.OK, "so", n_prompt_tokens=7, n_completion_tokens=0), Tokens(7, 0)),
        (Answer("q", AnswerState.OK, "so", n_prompt_tokens=None, n_completion_tokens=None), Tokens(10, 50)),
        (Answer("q", AnswerState.OK, "so", n_prompt_tokens=7, n_completion_tokens=None), Tokens(7, 50)),
        (Answer("q", AnswerState.ERROR, error="no"), None),
        (Answer("q", AnswerState.ERROR, error="no", error_class=ErrorClass.TOO_LONG), Tokens()),
    ],
    ids=["counted", "not counted", "half counted", "failed", "too long"],
)
def test_uncounted_answer_tokens_are_settled_at_the_maximum(answer: Answer, used: Tokens | None) -> None:
    limiter, request = (
        OpenLimiter(),
        Request("q", (Message("user", "a" * 30),), Sample("s", "qa", Kind.QA, "?", ()), ()),
    )
    assert list(admit_requests(Model(answer), [request], limiter)) == [answer]
    assert limiter.used == [used]
