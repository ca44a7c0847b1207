"""Asks a model until its reply can be read, and says why if it cannot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from components.asking.reply import without_thoughts
from components.protocols import Ask
from components.records import Answer, AnswerState, Message, Request, ScoreState

T = TypeVar("T")

_QUOTED_CHARACTERS = 2000


@dataclass(frozen=True)
class Inquiry(Generic[T]):
    """A request, and the function that reads its reply: it returns None for one that cannot be read."""

    request: Request
    read: Callable[[str], T | None]


@dataclass(frozen=True)
class Unread:
    """An inquiry without a result: FAILED if the request failed, UNPARSABLE if no reply could be read; and why."""

    state: ScoreState
    reason: str


def ask_until_readable(inquiries: Sequence[Inquiry[T]], ask: Ask, reminder: str, max_attempts: int) -> list[T | Unread]:
    """The result of each inquiry, in order. All are asked at once; those whose reply cannot be read are asked again,
    with that reply and `reminder` added to the conversation, up to `max_attempts` times in all. An empty, refused or
    truncated reply counts as one that cannot be read: of what is cut off nobody knows what it was to become.

    A request that failed is not repeated: the model behind `ask` has already retried it. Without inquiries nothing is
    asked.
    """
    results: dict[int, T | Unread] = {}
    waiting = dict(enumerate(inquiries))
    for _ in range(max_attempts):
        if not waiting:
            break
        answers = ask([inquiry.request for inquiry in waiting.values()])
        for (place, inquiry), answer in zip(list(waiting.items()), answers, strict=True):
            results[place] = result = _result(inquiry, answer)
            if isinstance(result, Unread) and result.state is ScoreState.UNPARSABLE:
                waiting[place] = _again(inquiry, answer, reminder)
            else:
                del waiting[place]
    return [results[place] for place in range(len(inquiries))]


def _result(inquiry: Inquiry[T], answer: Answer) -> T | Unread:
    if answer.state is AnswerState.ERROR:
        return Unread(ScoreState.FAILED, answer.error)
    read = inquiry.read(answer.text) if answer.state is AnswerState.OK else None
    if read is None:
        why = "" if answer.state is AnswerState.OK else f"({answer.state.value} reply)"
        return Unread(ScoreState.UNPARSABLE, f"cannot be read: {' '.join(filter(None, [why, _quoted(answer)]))}")
    return read


def _again(inquiry: Inquiry[T], answer: Answer, reminder: str) -> Inquiry[T]:
    """The inquiry with the reply and the reminder. If there is no reply to show, the reminder is appended to the last
    message: chat templates want the roles to alternate.
    """
    messages, quoted = inquiry.request.messages, _quoted(answer)
    if quoted:
        messages = (*messages, Message("assistant", quoted), Message("user", reminder))
    else:
        messages = (*messages[:-1], replace(messages[-1], content=f"{messages[-1].content}\n\n{reminder}"))
    return replace(inquiry, request=replace(inquiry.request, messages=messages))


def _quoted(answer: Answer) -> str:
    """A reply as it is shown to the model again, cut short: a runaway one would fill the model's context."""
    return without_thoughts(answer.text)[:_QUOTED_CHARACTERS]
