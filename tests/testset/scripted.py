"""A model that follows a script: it plays every role of making evaluation data, on any corpus, in Chinese and English.

It reads the prompts that real models are sent, and what it says depends on them alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, Message, Request
from tests.testset.scripted_readers import READERS
from tests.testset.scripted_writers import write

ROLES: list[Callable[[str, float], str | None]] = [*READERS, write]
"""Each replies to a prompt, with some flaw in this share of its replies; None to one that is not for it."""


def reply_to(messages: Sequence[Message], flawed_share: float = 0.0) -> str:
    """What the model says. Raises LookupError for a prompt that no role is for."""
    prompt = "\n".join(message.content for message in messages if message.role != "assistant")
    for role in ROLES:
        reply = role(prompt, flawed_share)
        if reply is not None:
            return reply
    raise LookupError(f"no scripted role is for: {prompt[:500]!r}")


@dataclass(frozen=True)
class ScriptedModel:
    """See `reply_to`."""

    flawed_share: float = 0.0
    model: str = "scripted"

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """One reply each."""
        for request in requests:
            yield Answer(request.id, AnswerState.OK, reply_to(request.messages, self.flawed_share))


def ask(requests: Sequence[Request]) -> list[Answer]:
    """Without a flaw."""
    return list(ScriptedModel().generate(requests))
