"""State of a model's text, from the finish reasons and error codes of providers."""

import logging

from components.openai_server.server_errors import HttpError
from components.records import AnswerState
from components.secrets.mask import shorten_masked

log = logging.getLogger(__name__)

_MAX_WARNED = 5
"""Some servers append a cause that differs in each reply."""
_unknown: set[str] = set()

_WHOLE = frozenset(
    {"", "complete", "completed", "end", "end_of_text", "end_turn", "eos", "eos_token", "finish", "finished", "stop"}
    | {"function_call", "pause_turn", "stop_sequence", "tool_call", "tool_calls", "tool_use"}
)
"""Finish reasons of text that the model ended itself. Text with a call of a tool is complete too."""
_CUT_OFF = frozenset(
    {
        "error_limit",
        "length",
        "max_completion_tokens",
        "max_length",
        "max_new_tokens",
        "max_output_tokens",
        "max_tokens",
    }
    | {"model_context_window_exceeded", "model_length", "time_limit", "token_limit"}
)
"""Finish reasons of text that reached a limit: tokens, the context window (Mistral, Zhipu, Bedrock), or time."""
_REFUSED = frozenset(
    {"blocklist", "error_toxic", "guardrail_intervened", "prohibited_content", "recitation", "refusal", "safety"}
    | {"sensitive", "spii"}
)
"""Finish reasons of refused text: Gemini, Cohere, Bedrock, Anthropic and Zhipu. All other providers use a form of
content_filter.
"""
_BROKEN_OFF = frozenset(
    {"abort", "aborted", "canceled", "cancelled", "error", "failed", "insufficient_system_resource", "network_error"}
    | {"timeout", "user_cancel"}
)
"""Finish reasons of text that the server abandoned: vLLM, SGLang, routers, DeepSeek, Zhipu, Cohere."""
_FILTER_CODES = frozenset(
    {"1301", "content_filter", "content_policy_violation", "data_inspection_failed", "datainspectionfailed"}
    | {"inputtextsensitivecontentdetected"}
)
"""Error codes and types of a prompt that a filter refuses: Zhipu, Azure, Kimi, OpenAI, Alibaba (twice), Volcengine."""
_FILTER_MESSAGES = (
    "contentpolicyviolation", "content exists risk", "violates usage guidelines", "input was flagged",
    "potentially violating our usage policy", "blocked by content filtering policy",
)  # fmt: skip
"""Parts of messages of such errors without a code: LiteLLM, DeepSeek, xAI, OpenRouter, OpenAI, Anthropic."""


def is_broken_off(finish_reason: object) -> bool:
    """Return True if the server abandoned the text before its end."""
    return _form(finish_reason) in _BROKEN_OFF


def classify_ending(text: str, finish_reason: object, *, refusal: object = None) -> AnswerState:
    """Return the state of a text that was not broken off. `refusal` is the model's refusal, if the reply has one.

    A text with an unknown finish reason counts as complete. Each reason is logged once, up to five.
    """
    reason = _form(finish_reason)
    if refusal or is_filter(reason):
        return AnswerState.REFUSED
    if reason in _CUT_OFF:
        return AnswerState.TRUNCATED
    if reason not in _WHOLE:
        _warn_of_unknown(reason)
    return AnswerState.OK if text else AnswerState.EMPTY


def is_filter(finish_reason: object) -> bool:
    """Return True for the reason of a content filter. Gemini appends its cause: "content_filter: RECITATION"."""
    reason = _form(finish_reason)
    return reason.startswith("content_filter") or reason in _REFUSED


def is_filtered_prompt(error: HttpError) -> bool:
    """Return True if the provider's filter refused the prompt, which Azure, for example, reports with status 400."""
    body = error.body if isinstance(error.body, dict) else {"message": error.body}
    message = str(body.get("message")).lower()
    has_code = any(str(body.get(name)).lower() in _FILTER_CODES for name in ("code", "type"))
    is_filter_error = has_code or any(words in message for words in _FILTER_MESSAGES)
    return error.status in (400, 403, 422) and is_filter_error


def _warn_of_unknown(reason: str) -> None:
    if reason in _unknown or len(_unknown) == _MAX_WARNED:
        return
    _unknown.add(reason)
    log.warning("finish reason %s is unknown; its answers count as complete", shorten_masked(reason, 60))


def _form(finish_reason: object) -> str:
    return finish_reason.lower() if isinstance(finish_reason, str) else ""
