"""Reads what a server sent as a chat completion."""

from typing import Any

from components.openai_server.errors import Malformed
from components.records import Answer, AnswerState


def read_reply(completion: Any, request_id: str, latency_s: float) -> Answer:
    """The answer in a completion. Raises Malformed for something else, such as a finish reason "error": routers send it
    with status 200 when the provider behind them broke off.

    A refusal, or a finish reason that names a content filter, is REFUSED; a text of nothing but white space is EMPTY; a
    text that was cut off at the maximum length is OK. Token counts are None if the server does not report them.
    """
    # The client builds its records without checking them: a field may hold anything, or be missing.
    try:
        choice = completion.choices[0]
        text = (choice.message.content or "").strip()
        failed = choice.finish_reason == "error"
        refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise Malformed(_as_sent(completion)) from error
    if failed:
        raise Malformed(_as_sent(completion))
    state = AnswerState.REFUSED if refused else AnswerState.OK if text else AnswerState.EMPTY
    return Answer(
        request_id,
        state,
        text if state is AnswerState.OK else "",
        n_prompt_tokens=_count(completion, "prompt_tokens"),
        n_completion_tokens=_count(completion, "completion_tokens"),
        latency_s=latency_s,
    )


def _as_sent(completion: Any) -> str:
    """What the server sent. JSON that is not an object comes as it is: the client makes records of objects alone."""
    return str(completion.to_dict(warnings=False) if hasattr(completion, "to_dict") else completion)


def _count(completion: Any, name: str) -> int | None:
    count = getattr(getattr(completion, "usage", None), name, None)
    return count if isinstance(count, int) else None
