"""Reading chat completions of servers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from components.openai_server.errors import Malformed, preview
from components.openai_server.reading import count_in, objects_in, part_of, text_in
from components.records import Answer, AnswerState
from components.text.thoughts import split_thoughts

_THOUGHTS = ("reasoning_content", "reasoning")
"""Names of the thoughts beside the text: in DeepSeek and vLLM, and in newer versions of vLLM and OpenRouter."""


def read_replies(completion: object, request_ids: Sequence[str], latency_s: float) -> list[Answer]:
    """Return the answers in a completion, with thoughts separated: one per id, or fewer if there are fewer.

    A refusal, or a finish reason that names a content filter, is REFUSED. The finish reason "length" is TRUNCATED.
    Blank text is EMPTY. Raises Malformed for other replies, such as one with the finish reason "error": routers send it
    with status 200 when the provider behind them failed.

    Token counts are None if the server does not report them. It reports them for all answers together. The prompt was
    read once, so its tokens count for the first answer. The tokens of the completions are divided in proportion to the
    lengths of the texts, so that their sum is the paid number.
    """
    choices = objects_in(completion, "choices")[: len(request_ids)]
    read = [_read(choice, request_id) for choice, request_id in zip(choices, request_ids, strict=False)]
    if not read:
        raise Malformed(preview(completion))
    n_prompt = count_in(completion, "usage", "prompt_tokens")
    n_cached = count_in(completion, "usage", "prompt_tokens_details", "cached_tokens")
    n_completion = count_in(completion, "usage", "completion_tokens")
    n_reasoning = count_in(completion, "usage", "completion_tokens_details", "reasoning_tokens")
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
    message = part_of(choice, "message")
    if not isinstance(message, dict):
        raise Malformed(f"{preview(choice)}, expected an object as message")
    thoughts, text = split_thoughts(text_in(message, "content"))
    reason = choice.get("finish_reason")
    if reason == "error":
        raise Malformed(preview(choice))
    state = _state(text, reason, refusal=message.get("refusal"))
    answer_text = text if state in (AnswerState.OK, AnswerState.TRUNCATED) else ""
    return Answer(request_id, state, answer_text, thoughts=thoughts or _thoughts_beside(message))


def _thoughts_beside(message: Mapping[str, object]) -> str:
    values = (message.get(name) for name in _THOUGHTS)
    return next((thoughts.strip() for thoughts in values if isinstance(thoughts, str)), "")


def _state(text: str, finish_reason: object, *, refusal: object) -> AnswerState:
    if refusal or finish_reason == "content_filter":
        return AnswerState.REFUSED
    if finish_reason == "length":
        return AnswerState.TRUNCATED
    return AnswerState.OK if text else AnswerState.EMPTY
