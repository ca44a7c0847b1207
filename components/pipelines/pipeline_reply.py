"""The reply of a custom pipeline: an answer, and optionally its passages, its usage and its seconds.

Replies are untrusted: every field is validated before it is used. A reply that breaks the contract is a failed request.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from components.openai_server.reply_reading import parse_count
from components.records import Answer, AnswerState, Request
from components.user_code.returned_passages import (
    BadReply,
    ReportedPassage,
    preview,
    read_fields,
    read_passages,
    read_text,
)

MAX_ANSWER_CHARACTERS = 100_000
"""Longer than any answer. A longer text is a document, a log or an error."""
_OTHER_NAMES = (
    "context", "contexts", "documents", "chunks", "retrieved_contexts", "retrieved_documents", "retrieved_passages",
    "source_documents", "source_nodes",
)  # fmt: skip
"""Names under which other tools return passages."""
MAX_SECONDS = 10**9
"""Longer than any call. Sums over many answers must be finite."""


@dataclass(frozen=True)
class PipelineReply:
    """An answer with its passages, best first: () if it found none, None if it does not report them."""

    answer: str
    passages: tuple[ReportedPassage, ...] | None = None


def split_question(request: Request) -> tuple[str, list[dict[str, str]]]:
    """Return the question of a request, and the earlier turns as mappings with "question" and "answer", oldest first.

    The messages of a request are the earlier questions and answers in turn, and finally the question.
    """
    *earlier, last = [message.content for message in request.messages]
    turns = zip(earlier[::2], earlier[1::2], strict=True)
    return last, [{"question": question, "answer": answer} for question, answer in turns]


def read_reply(value: object, request_id: str, latency_s: float) -> Answer:
    """Return a reply as an Answer whose text is JSON for `parse_stored_replies`.

    `value` is a string, or a mapping or dataclass with `answer`, and optionally `passages`, `usage` and `seconds`.
    Other names are ignored, except that a list in `_OTHER_NAMES` without `passages` is an error: metrics would miss it.
    Raises BadReply for that, for a value of another form, and for one that is too long.
    """
    if isinstance(value, str):
        value = {"answer": value}
    reply = read_fields(value, "the reply", "a string, or a mapping or dataclass with `answer`")
    answer = read_text(reply.get("answer"), "answer")
    if len(answer) > MAX_ANSWER_CHARACTERS:
        raise BadReply(f"answer: has {len(answer):,} characters, expected at most {MAX_ANSWER_CHARACTERS:,}")
    if "passages" not in reply and (misnamed := [name for name in _OTHER_NAMES if isinstance(reply.get(name), list)]):
        raise BadReply(
            f"the reply has `{misnamed[0]}`, expected `passages`. Rename it, or return passages=None to leave it out"
        )
    stored = {"answer": answer, "passages": _passages(reply.get("passages"))}
    usage = read_fields(reply.get("usage") or {}, "usage", "a mapping with prompt_tokens and completion_tokens")
    seconds = _seconds(reply.get("seconds"))
    return Answer(
        request_id,
        AnswerState.OK,
        json.dumps(stored, ensure_ascii=False),
        n_prompt_tokens=parse_count(usage.get("prompt_tokens")),
        n_completion_tokens=parse_count(usage.get("completion_tokens")),
        n_reasoning_tokens=None,
        latency_s=latency_s if seconds is None else seconds,
    )


def parse_stored_replies(answers: Sequence[Answer]) -> list[PipelineReply | None]:
    """Return the replies that `read_reply` stored as texts of Answers; None for a failed request."""
    return [None if answer.state is AnswerState.ERROR else _read_stored(answer.text) for answer in answers]


def _read_stored(text: str) -> PipelineReply:
    stored = json.loads(text)
    passages = stored["passages"]
    return PipelineReply(
        stored["answer"], None if passages is None else tuple(ReportedPassage(**fields) for fields in passages)
    )


def _passages(value: object) -> list[dict[str, object]] | None:
    """Return checked passages as mappings; None if the pipeline gave none."""
    if value is None:
        return None
    return [
        {name: field for name, field in vars(passage).items() if field not in ("", None) or name == "text"}
        for passage in read_passages(value)
    ]


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        raise BadReply(f"seconds: got {preview(value)}, expected seconds in [0, {MAX_SECONDS:,}]")
    return float(value)
