"""Reading replies and exceptions of llama-index classes.

The raw reply is a mapping or an object of the provider's SDK, and exceptions come from the SDK too. Both are recognized
by the names that providers use.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from components.llms.endings import classify_ending, is_broken_off
from components.openai_server.reply_reading import parse_count
from components.openai_server.server_errors import HttpError, Malformed, Unreachable
from components.records import Answer, AnswerState
from components.secrets.mask import HIDDEN, join_masked, shorten_masked
from components.text.thoughts import split_thoughts

_FINISH = ("finish_reason", "done_reason", "stop_reason")
"""Names of the finish reason in replies of OpenAI and Gemini, of Ollama, and of Anthropic."""
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "eval_count")
_SHOWN_CHARACTERS = 300


def read_reply(response: Any, request_id: str, latency_s: float) -> Answer:
    """Return the answer in a ChatResponse, with the thoughts separated from the text.

    The finish reason of the raw reply determines TRUNCATED and REFUSED. Blank text is EMPTY. Token counts are None if
    the reply has none. Raises Malformed if the server abandoned the text before its end.
    """
    raw, message = response.raw, response.message
    written = [block.text or "" for block in message.blocks if block.block_type == "text"]
    thoughts, text = split_thoughts(join_masked(written, "\n"))
    apart = [block.content or "" for block in message.blocks if block.block_type == "thinking"]
    thoughts = thoughts or join_masked(apart, "\n").strip()
    reason = _finish_reason(raw)
    if is_broken_off(reason):
        raise Malformed(f"the server stopped before the end of the answer: finish reason {reason!r}")
    state = classify_ending(text, reason)
    places = (_part(raw, "usage"), raw, response.additional_kwargs, message.additional_kwargs)
    return Answer(
        request_id,
        state,
        text if state in (AnswerState.OK, AnswerState.TRUNCATED) else "",
        thoughts=thoughts,
        n_prompt_tokens=_count(places, _PROMPT),
        n_completion_tokens=_count(places, _COMPLETION),
        n_reasoning_tokens=_count([_part(_part(raw, "usage"), "completion_tokens_details")], ("reasoning_tokens",)),
        latency_s=latency_s,
    )


def as_server_error(error: Exception) -> Exception:
    """Return the error of `components.openai_server.server_errors` that matches an exception of an SDK or its cause.

    Returns the exception itself if no error matches.
    """
    cause: BaseException | None = error
    while cause is not None:
        response = getattr(cause, "response", None)
        status = _part(cause, "status_code") or _part(response, "status_code")
        if isinstance(status, int) and status >= 400:
            body = _part(cause, "body")
            body = _part(body, "error") or body
            return HttpError(status, body if isinstance(body, dict) else str(cause), {})
        names = [cls.__name__ for cls in type(cause).__mro__]
        if any("Timeout" in name for name in names):  # check first: OpenAI's timeout is also a connection error
            return TimeoutError(str(cause))
        if any(name.endswith(("ConnectionError", "ConnectError")) for name in names):
            return Unreachable(str(cause))
        cause = cause.__cause__ or cause.__context__
    return error


def error_line(error: Exception, secret: str) -> str:
    """Return the exception as a short line. All secrets are masked; `secret` ("" for none) even if it is short."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return shorten_masked(line.replace(secret, HIDDEN) if secret else line, _SHOWN_CHARACTERS)


def _finish_reason(raw: object) -> str:
    """Return the finish reason, "" if the reply has none."""
    choices = _part(raw, "choices")
    ending = choices[0] if isinstance(choices, list | tuple) and choices else raw
    reason = next(filter(None, (_part(ending, name) for name in _FINISH)), "")
    return str(getattr(reason, "value", reason))  # Gemini's is an Enum


def _count(parts: Iterable[object], names: tuple[str, ...]) -> int | None:
    counts = (parse_count(_part(part, name)) for part in parts for name in names)
    return next((count for count in counts if count is not None), None)


def _part(value: object, name: str) -> object:
    """Return a value by key or by attribute, else None."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
