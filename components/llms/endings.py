"""State of a model's text, from the finish reasons and error codes of providers."""

from components.openai_server.errors import HttpError
from components.records import AnswerState

_CUT_OFF = frozenset({"length", "max_tokens", "model_length"})
"""Reasons of a text that reached a limit. Mistral's model_length is the context window."""
_REFUSED = frozenset({"blocklist", "prohibited_content", "recitation", "refusal", "safety", "sensitive", "spii"})
"""Reasons of Gemini, Anthropic and Zhipu. All other providers use a form of content_filter."""
_BROKEN_OFF = frozenset({"abort", "aborted", "error", "insufficient_system_resource", "network_error"})
"""Reasons of a text that the server gave up: vLLM, SGLang, routers, DeepSeek, Zhipu."""
_FILTERS = frozenset({"1301", "content_filter", "content_policy_violation", "data_inspection_failed"})
"""Error codes of prompts that a filter refuses: Zhipu, Azure, OpenAI, Alibaba."""
_FILTER_MESSAGES = ("content exists risk",)
"""Parts of messages of such errors. DeepSeek has no code for them."""


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
    code = str(error.code).lower()
    message = str(error.body.get("message") if isinstance(error.body, dict) else error.body).lower()
    return 400 <= error.status < 500 and (code in _FILTERS or any(part in message for part in _FILTER_MESSAGES))


def _form(finish_reason: object) -> str:
    return finish_reason.lower() if isinstance(finish_reason, str) else ""
