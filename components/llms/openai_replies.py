"""Reading chat completions of servers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from components.json_value import Json
from components.llms.endings import classify_ending, is_broken_off, is_filter
from components.openai_server.reply_reading import get_objects, get_text, read_count, read_member
from components.openai_server.server_errors import Malformed, format_preview
from components.openai_server.token_counts import AS_OPENAI
from components.records import Answer, AnswerState
from components.text.thoughts import split_thoughts

_THOUGHTS = ("reasoning_content", "reasoning")
"""Names of the fields for thoughts: in DeepSeek and vLLM, and in newer versions of vLLM and OpenRouter."""


def read_replies(completion: object, request_ids: Sequence[str], latency_s: float) -> list[Answer]:
    """Return the answers in a completion, with thoughts separated: one per id, or fewer if there are fewer.

    A refusal, or a finish reason that names a content filter, is REFUSED. A text that reached a limit is TRUNCATED.
    Blank text is EMPTY. Raises Malformed for other replies, such as one with an error or the finish reason "error":
    routers send it with status 200 when the provider behind them failed, even beside the beginning of a text.

    Token counts are None if the server does not report them. It reports them for all answers together. The prompt was
    read once, so its tokens count for the first answer. The tokens of the completions are divided in proportion to the
    lengths of the texts, so that their sum is the paid number.
    """
    choices = get_objects(completion, "choices")[: len(request_ids)]
    read = [_read(choice, request_id) for choice, request_id in zip(choices, request_ids, strict=False)]
    if not read:
        raise Malformed(format_preview(completion))
    n_prompt = read_count(completion, "usage", "prompt_tokens")
    n_cached = read_count(completion, "usage", "prompt_tokens_details", "cached_tokens")
    n_completion = read_count(completion, "usage", "completion_tokens")
    n_reasoning = read_count(completion, "usage", "completion_tokens_details", "reasoning_tokens")
    if n_thoughts := AS_OPENAI.thoughts(completion):
        n_completion = (n_completion or 0) + n_thoughts
        n_reasoning = n_thoughts if n_reasoning is None else n_reasoning
    lengths = [1 + len(answer.thoughts) + len(answer.text) for answer in read]
    is_first = [1, *[0] * (len(read) - 1)]
    shares = zip(
        _shares(n_prompt, is_first),
        _shares(min(n_cached or 0, n_prompt or 0), is_first),
        _shares(n_completion, lengths),
        _shares(n_reasoning, lengths),
        strict=True,
    )
    return [
        replace(
            answer,
            n_prompt_tokens=prompt,
            n_cached_tokens=cached or 0,
            n_completion_tokens=completion,
            n_reasoning_tokens=reasoning,
            latency_s=latency_s,
        )
        for answer, (prompt, cached, completion, reasoning) in zip(read, shares, strict=True)
    ]


def _shares(count: int | None, weights: Sequence[int]) -> list[int | None]:
    """Return integers in proportion to the weights that add up to the count; None if the count is unknown."""
    if count is None:
        return [None] * len(weights)
    ends = [count * end // sum(weights) for end in accumulate(weights, initial=0)]
    return [end - start for start, end in pairwise(ends)]


def _read(choice: Mapping[str, object], request_id: str) -> Answer:
    """Return the answer in a choice. Raises Malformed for an aborted completion, and without a message."""
    reason = choice.get("finish_reason")
    if is_broken_off(reason) or choice.get("error"):
        raise Malformed(format_preview(choice))
    message = read_member(choice, "message")
    if message is None and is_filter(reason):
        return Answer(request_id, AnswerState.REFUSED)
    if not isinstance(message, dict):
        raise Malformed(f"{format_preview(choice)}, expected an object as message")
    content, thoughts_in_content = _content(message)
    thoughts, text = split_thoughts(content)
    state = classify_ending(text, reason, refusal=message.get("refusal"))
    answer_text = text if state in (AnswerState.OK, AnswerState.TRUNCATED) else ""
    return Answer(request_id, state, answer_text, thoughts=thoughts or thoughts_in_content or _thoughts_beside(message))


def _content(message: Mapping[str, object]) -> tuple[str, str]:
    """Return the text of a message, and the thoughts that a list of parts contains, as Mistral's models send it."""
    if not isinstance(message.get("content"), list):
        return get_text(message, "content"), ""
    parts = get_objects(message, "content")
    text = "".join(get_text(part, "text") for part in parts if part.get("type") == "text")
    thoughts = [part for part in parts if part.get("type") == "thinking"]
    if parts and not any(part.get("type") in ("text", "thinking", "reasoning") for part in parts):
        raise Malformed(f"{format_preview(message)}, expected a part with text as content")
    return text, "".join(map(_thinking, thoughts)).strip()


def _thinking(part: Mapping[str, Json]) -> str:
    if not isinstance(part.get("thinking"), list):
        return get_text(part, "thinking")
    return "".join(get_text(piece, "text") for piece in get_objects(part, "thinking"))


def _thoughts_beside(message: Mapping[str, object]) -> str:
    values = (message.get(name) for name in _THOUGHTS)
    return next((thoughts.strip() for thoughts in values if isinstance(thoughts, str)), "")
