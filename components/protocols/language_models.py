"""Language models, and the function with which components call one."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

from components.protocols.component import Component
from components.records import Answer, Request


class AnswersFrom(StrEnum):
    """The input that determines the answer of a backend. It is part of the key of a cached reply.

    A language model reads messages. A stand-in reads the sample and the passages. NOTHING means that there is no
    generator, and no request is sent.
    """

    MESSAGES = "messages"
    SAMPLE = "sample"
    NOTHING = "nothing"


@runtime_checkable
class LLM(Component, Protocol):
    """A component that answers requests.

    Equal requests have equal answers, unless it has a field `temperature` above 0. Optional members:

    - `account`, a property of models behind a server whose attempts pass the limiter
      (`components.openai_server.limiter`): the account whose limits they count against. For other models,
      the caller counts the requests.
    - `is_free = True`, a class variable of models that run on the user's machines without charge.
    - `is_stand_in = True`, a class variable of models that reply by rule, for rehearsals and tests. Their requests
      count towards no budget.
    """

    answers_from: ClassVar[AnswersFrom]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield exactly one Answer per request, as they arrive, in any order.

        A failed request yields an Answer with the state ERROR. It raises no exception.
        """


@runtime_checkable
class Pipeline(LLM, Protocol):
    """A component that answers questions with a whole pipeline instead of the other components of a cell.

    It gets the conversation as messages: the earlier questions and answers in turn, and finally the question. The text
    of an answer is a reply as `components.pipelines.pipeline_reply` stores it. With `is_built_in`, the other components
    of the cell answer, and it is never asked.
    """

    is_built_in: ClassVar[bool]


Ask = Callable[[Sequence[Request]], list[Answer]]
"""A function that sends requests to a language model and returns one Answer each, in order. It does not repeat requests
whose replies are cached. The ids of requests must be unique within one call."""
