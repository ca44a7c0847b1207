"""A model that is none: it plays every role of making evaluation data by rule, on any corpus, in Chinese and English.

It reads the prompts that real models are sent, and what it says depends on them alone. What comes of it shows how a run
goes; it is no benchmark.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.llms.rehearsal.readers import READERS
from components.llms.rehearsal.writer import write
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Message, Request

ROLES: list[Callable[[str, float], str | None]] = [*READERS, write]
"""Each replies to a prompt, with some flaw in this share of its replies; None to one that is not for it."""


@dataclass(frozen=True)
class Rehearsal:
    """Writes, reads, votes and inspects without a model: see `components.llms.rehearsal.writer` for what it asks for. A
    share of its replies is flawed on purpose, each in one of many ways, so that there is something to reject.

    To the prompts of anything but `python -m runner.generate` it has no reply: the request fails.
    """

    flawed_share: float = 0.0
    model: str = "rehearsal"

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True
    is_stand_in: ClassVar[bool] = True

    def check(self) -> list[str]:
        """A share out of range."""
        if 0 <= self.flawed_share <= 1:
            return []
        return [f"flawed_share: got {self.flawed_share:g}, expected a share in [0, 1]"]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """One reply each, in order."""
        for request in requests:
            try:
                reply = reply_to(request.messages, self.flawed_share)
            except LookupError as error:
                yield Answer(request.id, AnswerState.ERROR, error=str(error), error_class=ErrorClass.OTHER)
            else:
                yield Answer(request.id, AnswerState.OK, reply, n_completion_tokens=len(reply))


def reply_to(messages: Sequence[Message], flawed_share: float = 0.0) -> str:
    """What is said. Raises LookupError for a prompt that no role is for."""
    prompt = "\n".join(message.content for message in messages if message.role != "assistant")
    for role in ROLES:
        reply = role(prompt, flawed_share)
        if reply is not None:
            return reply
    raise LookupError(
        f"llm=rehearsal knows no reply to a prompt that begins with {prompt[:80]!r}; expected a real model"
    )
