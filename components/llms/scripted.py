"""A language model that follows a script, for tests of the code around a model."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.fields import runtime_only
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Request


@dataclass(frozen=True)
class Scripted:
    """A model that returns `reply` with {question} and {context} filled in. A blank result is EMPTY.

    Question and context are part of the messages, so the messages determine the reply, as for real models. A request
    whose question contains `error_on` (`empty_on`, `refuse_on`) ends in that state. With `truncate_on` in the question,
    the reply is cut to its first half. "" switches the field off. Errors have the class `error_class`.
    """

    reply: str = "{question}"
    error_on: str = ""
    empty_on: str = ""
    refuse_on: str = ""
    truncate_on: str = ""
    error_class: ErrorClass = ErrorClass.OTHER
    delay_s: float = runtime_only(0.0, "waiting changes no answer")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_stand_in: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield one answer per request, in order, `delay_s` apart."""
        for request in requests:
            time.sleep(self.delay_s)
            yield self._answer(request)

    def _answer(self, request: Request) -> Answer:
        question = request.sample.question
        if self.error_on and self.error_on in question:
            error = f"the script fails on {self.error_on!r}"
            return Answer(request.id, AnswerState.ERROR, error=error, error_class=self.error_class)
        if self.empty_on and self.empty_on in question:
            return Answer(request.id, AnswerState.EMPTY)
        if self.refuse_on and self.refuse_on in question:
            return Answer(request.id, AnswerState.REFUSED)
        values = {"{question}": question, "{context}": "\n".join(passage.text for passage in request.passages)}
        text = re.sub("{question}|{context}", lambda place: values[place.group()], self.reply)
        if self.truncate_on and self.truncate_on in question:
            half = text[: len(text) // 2]
            return Answer(request.id, AnswerState.TRUNCATED, half, n_completion_tokens=len(half))
        state = AnswerState.OK if text else AnswerState.EMPTY
        return Answer(request.id, state, text, n_completion_tokens=len(text))
