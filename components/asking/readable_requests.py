"""Requests that are repeated until the reply is readable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from components.asking.model_reply import strip_thoughts
from components.protocols import Ask
from components.records import Answer, AnswerState, Message, Request, ScoreState

T = TypeVar("T")

_QUOTED_CHARACTERS = 2000


@dataclass(frozen=True)
class Inquiry(Generic[T]):
    """A request, and the function that parses its reply; it returns None for an unreadable reply."""

    request: Request
    read: Callable[[str], T | None]


@dataclass(frozen=True)
class UnreadableReply:
    """The state of an inquiry without a result: FAILED if the request failed, UNPARSABLE if no reply was readable."""

    state: ScoreState
    reason: str

    @property
    def unread(self) -> str:
        """The reason why no reply was readable; "" if the request failed."""
        return "" if self.state is ScoreState.FAILED else self.reason

    @property
    def failed(self) -> str:
        """The reason why the request failed; "" if no reply was readable."""
        return self.reason if self.state is ScoreState.FAILED else ""


def ask_until_readable(
    inquiries: Sequence[Inquiry[T]], ask: Ask, reminder: str, max_attempts: int
) -> list[T | UnreadableReply]:
    """Return the result of each inquiry, in order. All inquiries are sent together.

    An inquiry with an unreadable reply is sent again, with that reply and `reminder` appended to the conversation, up
    to `max_attempts` attempts in total. An empty, refused or truncated reply counts as unreadable, because its intended
    end is unknown. A repeat of an unreadable reply counts too: small models copy a truncated text to its last word,
    and then end it. A failed request is not repeated: the model behind `ask` has already retried it. Without inquiries,
    nothing is sent.
    """
    results: dict[int, T | UnreadableReply] = {}
    quoted: list[dict[str, AnswerState]] = [{} for _ in inquiries]
    waiting = dict(enumerate(inquiries))
    for _ in range(max_attempts):
        if not waiting:
            break
        answers = ask([inquiry.request for inquiry in waiting.values()])
        for (place, inquiry), answer in zip(list(waiting.items()), answers, strict=True):
            results[place] = result = _result(inquiry, answer, quoted[place])
            if isinstance(result, UnreadableReply) and result.state is ScoreState.UNPARSABLE:
                waiting[place] = _with_reminder(inquiry, answer, reminder)
                quoted[place].setdefault(_quote(answer).strip(), answer.state)
            else:
                del waiting[place]
    return [results[place] for place in range(len(inquiries))]


def _result(inquiry: Inquiry[T], answer: Answer, quoted: Mapping[str, AnswerState]) -> T | UnreadableReply:
    """Return the result of one reply. `quoted` has the states of the unreadable replies that the model was shown."""
    if answer.state is AnswerState.ERROR:
        return UnreadableReply(ScoreState.FAILED, answer.error)
    repeated = quoted.get(strip_thoughts(answer.text).strip())
    state = answer.state if repeated is None or answer.state is not AnswerState.OK else repeated
    read = inquiry.read(answer.text) if repeated is None and state is AnswerState.OK else None
    if read is None:
        why = "" if state is AnswerState.OK else f"({state.value} reply)"
        return UnreadableReply(
            ScoreState.UNPARSABLE, f"cannot be read: {' '.join(filter(None, [why, _quote(answer)]))}"
        )
    return read


def _with_reminder(inquiry: Inquiry[T], answer: Answer, reminder: str) -> Inquiry[T]:
    """Return the inquiry with the reply and the reminder appended.

    If there is no reply to show, the reminder is added to the last message, because chat templates require alternating
    roles.
    """
    messages, quoted = inquiry.request.messages, _quote(answer)
    if quoted:
        messages = (*messages, Message("assistant", quoted), Message("user", reminder))
    else:
        messages = (*messages[:-1], replace(messages[-1], content=f"{messages[-1].content}\n\n{reminder}"))
    return replace(inquiry, request=replace(inquiry.request, messages=messages))


def _quote(answer: Answer) -> str:
    """Return the reply as shown to the model again, cut because a runaway reply would fill the model's context."""
    return strip_thoughts(answer.text)[:_QUOTED_CHARACTERS]
