"""A stand-in that plays all roles in generating evaluation data by rule, on any corpus, in Chinese and English.

It reads the prompts of real models, and its replies depend on them alone. They show how a run works, and are not a
benchmark.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.llms.rehearsal.examiner import EXAMINERS
from components.llms.rehearsal.readers import READERS
from components.llms.rehearsal.writer import write
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from components.text.normalize import ANSWER_FORM_VERSION

ROLES: list[Callable[[str, float], str | None]] = [*EXAMINERS, *READERS, write]
"""Functions that reply to a prompt, with a flaw in the given share of replies; None for a prompt of another role."""


@dataclass(frozen=True)
class Rehearsal:
    """A stand-in that writes, reads, votes and inspects; see `components.llms.rehearsal.writer` for its questions.

    It also plays the judges of claims and contexts; see `components.llms.rehearsal.examiner`.

    A share of its replies has a deliberate flaw of one of many kinds, so that checks have something to reject. Other
    requests fail.
    """

    flawed_share: float = 0.0
    model: str = "rehearsal"

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True
    is_stand_in: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return an error message for a share out of range."""
        if 0 <= self.flawed_share <= 1:
            return []
        return [f"flawed_share: got {self.flawed_share:g}, expected a share in [0, 1]"]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield one reply per request, in order."""
        for request in requests:
            try:
                reply = write_reply(request.messages, self.flawed_share)
            except LookupError as error:
                yield Answer(request.id, AnswerState.ERROR, error=str(error), error_class=ErrorClass.OTHER)
            else:
                yield Answer(request.id, AnswerState.OK, reply, n_completion_tokens=len(reply))


def write_reply(messages: Sequence[Message], flawed_share: float = 0.0) -> str:
    """Return the reply to the messages. Raises LookupError if no role matches the prompt."""
    prompt = "\n".join(message.content for message in messages if message.role != "assistant")
    for role in ROLES:
        reply = role(prompt, flawed_share)
        if reply is not None:
            return reply
    raise LookupError(f"llm=rehearsal knows no reply to a prompt that begins with {prompt[:80]!r}. Use a real model.")
