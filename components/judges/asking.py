"""Asking a judge until its reply can be read, and saying why if it cannot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from components.judges.reply import without_thoughts
from components.protocols import Ask
from components.records import Answer, AnswerState, Message, Request, ScoreState

T = TypeVar("T")

_QUOTED_CHARACTERS = 2000


@dataclass(frozen=True)
class Inquiry(Generic[T]):
    """A request, and what makes of the reply what was asked for: None for a reply that cannot be read."""

    request: Request
    read: Callable[[str], T | None]


@dataclass(frozen=True)
class Unread:
    """An inquiry without a result: FAILED if the request did, UNPARSABLE if no reply could be read; and `reason`."""

    state: ScoreState
    reason: str


def ask_until_readable(inquiries: Sequence[Inquiry[T]], ask: Ask, reminder: str, max_attempts: int) -> list[T | Unread]:
    """What each inquiry brought, in order. All are asked at once; those whose reply cannot be read, once more with that
    reply and `reminder` in the conversation, up to `max_attempts` times in all. An empty or refused reply cannot be
    read.

    A request that failed is not asked again: the model behind `ask` has tried often enough. Without inquiries nothing
    is asked.
    """
    outcomes: dict[int, T | Unread] = {}
    waiting = dict(enumerate(inquiries))
    for _ in range(max_attempts):
        if not waiting:
            break
        answers = ask([inquiry.request for inquiry in waiting.values()])
        for (place, inquiry), answer in zip(list(waiting.items()), answers, strict=True):
            outcomes[place] = outcome = _outcome(inquiry, answer)
            if isinstance(outcome, Unread) and outcome.state is ScoreState.UNPARSABLE:
                waiting[place] = _again(inquiry, answer, reminder)
            else:
                del waiting[place]
    return [outcomes[place] for place in range(len(inquiries))]


def _outcome(inquiry: Inquiry[T], answer: Answer) -> T | Unread:
    if answer.state is AnswerState.ERROR:
        return Unread(ScoreState.FAILED, answer.error)
    read = inquiry.read(answer.text) if answer.state is AnswerState.OK else None
    if read is None:
        shown = _quoted(answer) or f"({answer.state.value} reply)"
        return Unread(ScoreState.UNPARSABLE, f"cannot be read: {shown}")
    return read


def _again(inquiry: Inquiry[T], answer: Answer, reminder: str) -> Inquiry[T]:
    """The inquiry with the reply and the reminder. Without a reply the reminder joins the last message: chat templates
    want the roles to alternate.
    """
    messages, quoted = inquiry.request.messages, _quoted(answer)
    if quoted:
        messages = (*messages, Message("assistant", quoted), Message("user", reminder))
    else:
        messages = (*messages[:-1], replace(messages[-1], content=f"{messages[-1].content}\n\n{reminder}"))
    return replace(inquiry, request=replace(inquiry.request, messages=messages))


def _quoted(answer: Answer) -> str:
    """A reply as it is shown again: a runaway one would fill the model's context."""
    return without_thoughts(answer.text)[:_QUOTED_CHARACTERS]
