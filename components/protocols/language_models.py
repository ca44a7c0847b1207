"""Language models, and how a component asks one."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

from components.protocols.component import Component
from components.records import Answer, Request


class AnswersFrom(StrEnum):
    """What decides a backend's answer, and so stands in the key of a kept reply. A language model reads messages;
    baselines read the sample and the passages; NOTHING is for no generator at all: no request is made.
    """

    MESSAGES = "messages"
    SAMPLE = "sample"
    NOTHING = "nothing"


@runtime_checkable
class LLM(Component, Protocol):
    """Answers requests. Equal requests have equal answers, unless it has a field `temperature` that is above 0.

    A model behind a server whose attempts pass the gate (see `components.openai_server.gate`) has a property `account`,
    whose limits they count against; requests to other models are counted by whoever asks. One that runs on machines of
    the user's, where nobody charges for requests, has a class variable `is_free = True`. One that replies by rule, for
    rehearsals and tests, has a class variable `is_stand_in = True`: its requests count towards no budget.
    """

    answers_from: ClassVar[AnswersFrom]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Exactly one Answer per request, yielded as they arrive, in any order. A failed request is an Answer with
        state ERROR, not an exception.
        """


Ask = Callable[[Sequence[Request]], list[Answer]]
"""Puts requests to a language model: one Answer each, in the order of the requests. A reply that was kept is
not asked for again. Ids of requests are unique in one call."""
