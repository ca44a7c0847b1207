"""Reads what a server sent as a chat completion."""

from collections.abc import Mapping
from typing import Any

from components.openai_server.errors import Malformed
from components.records import Answer, AnswerState


def read_reply(completion: Any, request_id: str, latency_s: float) -> Answer:
    """The answer in a completion. Raises Malformed for something else, such as a finish reason "error": routers send it
    with status 200 when the provider behind them broke off.

    A refusal, or a finish reason that names a content filter, is REFUSED; the finish reason "length" is TRUNCATED; a
    text of nothing but white space is EMPTY. Token counts are None if the server does not report them.
    """
    # Nothing about the reply was checked yet: a field may hold anything, or be missing.
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        text = (message.get("content") or "").strip()
        reason = choice.get("finish_reason")
        state = _state(text, reason, refusal=message.get("refusal"))
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise Malformed(str(completion)) from error
    if reason == "error":
        raise Malformed(str(completion))
    return Answer(
        request_id,
        state,
        text if state in (AnswerState.OK, AnswerState.TRUNCATED) else "",
        n_prompt_tokens=_count(completion, "prompt_tokens"),
        n_completion_tokens=_count(completion, "completion_tokens"),
        latency_s=latency_s,
    )


def _state(text: str, finish_reason: object, *, refusal: object) -> AnswerState:
    if refusal or finish_reason == "content_filter":
        return AnswerState.REFUSED
    if finish_reason == "length":
        return AnswerState.TRUNCATED
    return AnswerState.OK if text else AnswerState.EMPTY


def _count(completion: Mapping[str, Any], name: str) -> int | None:
    usage = completion.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) else None
