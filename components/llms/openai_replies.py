"""Reads what a server sent as a chat completion."""

from collections.abc import Mapping
from typing import Any

from components.openai_server.counts import count_in
from components.openai_server.errors import Malformed
from components.records import Answer, AnswerState
from components.text.thoughts import split_thoughts

_THOUGHTS = ("reasoning_content", "reasoning")
"""Where servers put thoughts beside the text: DeepSeek and vLLM, and newer versions of vLLM and OpenRouter."""


def read_reply(completion: Any, request_id: str, latency_s: float) -> Answer:
    """The answer in a completion, with the thoughts apart from it. Raises Malformed for something else, such as a
    finish reason "error": routers send it with status 200 when the provider behind them broke off.

    A refusal, or a finish reason that names a content filter, is REFUSED; the finish reason "length" is TRUNCATED; a
    text of nothing but white space is EMPTY. Token counts are None if the server does not report them.
    """
    # Nothing about the reply was checked yet: a field may hold anything, or be missing.
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        thoughts, text = split_thoughts(message.get("content") or "")
        thoughts = thoughts or _thoughts_beside(message)
        reason = choice.get("finish_reason")
        state = _state(text, reason, refusal=message.get("refusal"))
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise Malformed(str(completion)) from error
    if reason == "error":
        raise Malformed(str(completion))
    n_prompt = count_in(completion, "usage", "prompt_tokens")
    n_cached = count_in(completion, "usage", "prompt_tokens_details", "cached_tokens")
    return Answer(
        request_id,
        state,
        text if state in (AnswerState.OK, AnswerState.TRUNCATED) else "",
        thoughts=thoughts,
        n_prompt_tokens=n_prompt,
        n_completion_tokens=count_in(completion, "usage", "completion_tokens"),
        n_reasoning_tokens=count_in(completion, "usage", "completion_tokens_details", "reasoning_tokens"),
        n_cached_tokens=min(n_cached or 0, n_prompt or 0),
        latency_s=latency_s,
    )


def _thoughts_beside(message: Mapping[str, Any]) -> str:
    found = (message.get(name) for name in _THOUGHTS)
    return next((thoughts.strip() for thoughts in found if isinstance(thoughts, str)), "")


def _state(text: str, finish_reason: object, *, refusal: object) -> AnswerState:
    if refusal or finish_reason == "content_filter":
        return AnswerState.REFUSED
    if finish_reason == "length":
        return AnswerState.TRUNCATED
    return AnswerState.OK if text else AnswerState.EMPTY
