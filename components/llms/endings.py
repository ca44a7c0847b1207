"""State of a model's text, from the finish reasons and error codes of providers."""

from components.openai_server.errors import HttpError
from components.records import AnswerState

_CUT_OFF = frozenset(
    {"length", "max_tokens", "max_new_tokens", "model_length", "model_context_window_exceeded", "error_limit"}
    | {"time_limit", "token_limit"}
)
"""Reasons of a text that reached a limit: of tokens, of the context window (Mistral, Zhipu, Bedrock), of time."""
_REFUSED = frozenset(
    {"blocklist", "error_toxic", "guardrail_intervened", "prohibited_content", "recitation", "refusal", "safety"}
    | {"sensitive", "spii"}
)
"""Reasons of Gemini, Cohere, Bedrock, Anthropic and Zhipu. All other providers use a form of content_filter."""
_BROKEN_OFF = frozenset(
    {"abort", "aborted", "cancelled", "error", "insufficient_system_resource", "network_error", "user_cancel"}
)
"""Reasons of a text that the server gave up: vLLM, SGLang, routers, DeepSeek, Zhipu, Cohere."""
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
    """Return True if the server gave up the text before its end."""
    return _form(finish_reason) in _BROKEN_OFF


def classify_ending(text: str, finish_reason: object, *, refusal: object = None) -> AnswerState:
    """Return the state of a text that was not broken off. `refusal` is the model's refusal, if the reply has one."""
    reason = _form(finish_reason)
    if refusal or is_filter(reason):
        return AnswerState.REFUSED
    if reason in _CUT_OFF:
        return AnswerState.TRUNCATED
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


def _form(finish_reason: object) -> str:
    return finish_reason.lower() if isinstance(finish_reason, str) else ""
