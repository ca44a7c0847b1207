"""Base of pipelines that are called in the process of the sweep."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.openai_server.breaker import NOT_SENT, Breaker
from components.openai_server.limiter import current_limiter
from components.openai_server.server_errors import classify_error
from components.pipelines.pipeline_reply import read_reply, split_question
from components.protocols import AnswersFrom
from components.records import Answer, ErrorClass, Request
from components.secrets.mask import shorten_masked
from components.user_code.calling import call_each
from components.user_code.calls import CallsUserCode, format_call_failure
from components.user_code.returned_passages import BadReply

_SHOWN_CHARACTERS = 300

Answering = Callable[[str, list[dict[str, str]]], object]
"""A function of a question and of the earlier turns, which returns what `read_reply` reads."""


@dataclass(frozen=True, kw_only=True)
class CalledPipeline(CallsUserCode):
    """Answers each question by one call.

    A call that raises, takes too long, or returns something that `read_reply` rejects is a failed request. After many
    consecutive timeouts, the remaining questions are not sent (see `Breaker`).
    """

    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_built_in: ClassVar[bool] = False

    @abstractmethod
    def answering(self) -> Answering:
        """Return the function that answers. Raises ComponentError if it cannot be imported or built."""

    @property
    def model(self) -> str:
        """The path, for prices and messages."""
        return self.path

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Raises ComponentError if the pipeline cannot be imported or built.

        Closing the iterator, or an interrupt, starts no more calls. Running calls continue in their threads.
        """
        answering = self.answering()

        def answer(request: Request, latency_s: Callable[[], float]) -> Answer:
            return read_reply(answering(*split_question(request)), request.id, latency_s())

        breaker = Breaker(self.concurrency, current_limiter().health(f"{self.path} {dict(self.parameters)}"))
        for request, outcome in call_each(answer, requests, self.concurrency, self.timeout_s, lambda: breaker.is_open):
            if outcome is None:
                yield Answer.from_failure(request, f"{NOT_SENT}: {breaker.reason}", breaker.error_class)
            elif isinstance(outcome, Answer):
                breaker.record_success()
                yield outcome
            else:
                yield self._failed_call(request, outcome, breaker)

    def _failed_call(self, request: Request, error: BaseException, breaker: Breaker) -> Answer:
        exception = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
        kind = ErrorClass.MALFORMED if isinstance(error, BadReply) else classify_error(exception)
        text = shorten_masked(f"{self.path}: {format_call_failure(error, self.path)}", _SHOWN_CHARACTERS)
        breaker.record_failure(exception, text)
        return Answer.from_failure(request, text, kind)
