"""Questions in traces, and the values in which tracing libraries store questions, answers and passages.

Libraries store any JSON. This module knows the usual forms: a text, an object with a recognized name, messages with
roles. A value in another form is not a question, and is never guessed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite

from components.json_value import Json
from components.records import Turn
from components.text.normalize import whole_characters

MAX_TEXT_CHARACTERS = 100_000
"""Maximum number of characters of a question or an answer."""
MAX_PASSAGES = 1_000
_MAX_LABEL_CHARACTERS = 40

_QUESTION = ("question", "query", "user_query", "user_input", "user_message", "prompt", "message", "input", "text")
_ANSWER = (
    "answer",
    "response",
    "output",
    "result",
    "completion",
    "content",
    "message",
    "text",
    "generations",
    "choices",
)
_PASSAGES = (
    "documents",
    "passages",
    "context",
    "contexts",
    "source_documents",
    "sources",
    "nodes",
    "results",
    "chunks",
)
_TEXT = ("page_content", "text", "content", "document.content", "passage", "document", "node")
_HISTORY = ("history", "chat_history")
_USER, _ASSISTANT = ("user", "human"), ("assistant", "ai", "model")
_MAX_NESTING = 8

Conversation = tuple[tuple[Turn, ...], str]


@dataclass(frozen=True)
class TracedQuestion:
    """A question that a user asked, as a trace has it. Fields that it does not have are empty.

    `passages` are the texts that the pipeline found. `time` orders the questions of a `session`; its unit does not
    matter. `feedback` is what the user said of the answer: see `feedback_label`.
    """

    id: str
    question: str
    answer: str = ""
    passages: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()
    session: str = ""
    time: float = 0.0
    feedback: str = ""


@dataclass(frozen=True)
class SkippedTrace:
    """A trace that has no usable question, and the reason in a few words."""

    reason: str


def read_trace(
    an_id: str,
    inputs: Json,
    outputs: Json,
    passages: Sequence[str] = (),
    session: str = "",
    time: float = 0.0,
    feedback: str = "",
) -> TracedQuestion | SkippedTrace:
    """Return the question of a trace with these values, or why it has none."""
    history, question = read_conversation(inputs)
    if not question.strip():
        return SkippedTrace("no question in its input")
    answer = read_answer(outputs)
    if max(len(question), len(answer)) > MAX_TEXT_CHARACTERS:
        return SkippedTrace(f"a question or an answer of more than {MAX_TEXT_CHARACTERS:,} characters")
    texts = tuple(dict.fromkeys(whole_characters(text) for text in passages if text.strip()))[:MAX_PASSAGES]
    turns = tuple(Turn(whole_characters(turn.question), whole_characters(turn.answer)) for turn in history)
    return TracedQuestion(
        whole_characters(an_id),
        whole_characters(question.strip()),
        whole_characters(answer.strip()),
        texts,
        turns,
        whole_characters(session),
        time,
        feedback,
    )


def read_conversation(value: Json, depth: int = 0) -> Conversation:
    """Return the earlier turns and the question in a value; "" if it has none."""
    value = _parse(value)
    if isinstance(value, str):
        return (), value
    if isinstance(value, list):
        return _split_conversation(value)
    if not isinstance(value, dict) or depth > _MAX_NESTING:
        return (), ""
    if isinstance(value.get("messages"), list):
        return _split_conversation(value["messages"])
    for name in _QUESTION:
        if name in value:
            history, question = read_conversation(value[name], depth + 1)
            if question:
                return history or _read_history(value), question
    # A single value under a name that we do not know must be the question, such as {"customer_text": "..."}.
    texts = [part for part in value.values() if isinstance(part, str)]
    if len(value) == 1 and texts:
        return (), texts[0]
    nested = [part for part in value.values() if isinstance(part, dict)]
    return read_conversation(nested[0], depth + 1) if len(value) == 1 and nested else ((), "")


def read_answer(value: Json, depth: int = 0) -> str:
    """Return the answer in a value; "" if it has none."""
    value = _parse(value)
    if isinstance(value, str):
        return value
    if depth > _MAX_NESTING:
        return ""
    if isinstance(value, list):
        replies = [text for role, text in _messages(value) if role in _ASSISTANT]
        return replies[-1] if replies else read_answer(value[0], depth + 1) if value else ""
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("messages"), list):
        return read_answer(value["messages"], depth + 1)
    for name in _ANSWER:
        if name in value and (text := read_answer(value[name], depth + 1)):
            return text
    texts = [part for part in value.values() if isinstance(part, str)]
    return texts[0] if len(value) == 1 and texts else ""


def read_passages(value: Json, depth: int = 0) -> list[str]:
    """Return the texts of the documents in a value, in order; [] if it has none."""
    value = _parse(value)
    if isinstance(value, list):
        return [text for element in value if (text := _read_text(element, 0))]
    if isinstance(value, dict) and depth <= _MAX_NESTING:
        for name in _PASSAGES:
            if passages := read_passages(value.get(name), depth + 1):
                return passages
    return []


_GOOD = frozenset({"good", "up", "thumbs_up", "positive", "yes", "true", "like", "liked", "correct"})
_BAD = frozenset({"bad", "down", "thumbs_down", "negative", "no", "false", "dislike", "disliked", "incorrect"})
_THUMBS = {"1": "good", "0": "bad", "-1": "bad"}


def feedback_label(value: Json) -> str:
    """Return "good" or "bad" for a thumb up or down, a boolean or such a word, a number as text ("1", "4.5"), and other
    words as they are. "" without feedback. What a number means depends on its scale: see `name_thumbs`.
    """
    if isinstance(value, bool):
        return "good" if value else "bad"
    if not isinstance(value, str | int | float):
        return ""
    text = whole_characters(str(value).strip())
    if _is_number(text):
        return f"{float(text):g}"
    word = text.lower().replace("-", "_").replace(" ", "_")
    return "good" if word in _GOOD else "bad" if word in _BAD else text[:_MAX_LABEL_CHARACTERS]


def name_thumbs(questions: Sequence[TracedQuestion]) -> list[TracedQuestion]:
    """Return the questions with the feedback 1, 0 and -1 as "good" and "bad", unless another number shows a scale, such
    as stars from 1 to 5.
    """
    numbers = {question.feedback for question in questions if _is_number(question.feedback)}
    names = _THUMBS if numbers <= _THUMBS.keys() else {}
    return [replace(question, feedback=names.get(question.feedback, question.feedback)) for question in questions]


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _read_history(value: Mapping[str, Json]) -> tuple[Turn, ...]:
    for name in _HISTORY:
        if isinstance(value.get(name), list):
            return _turns(value[name])
    return ()


def _turns(value: Sequence[Json]) -> tuple[Turn, ...]:
    pairs = [(pair.get("question"), pair.get("answer")) for pair in value if isinstance(pair, dict)]
    if pairs and all(isinstance(text, str) for pair in pairs for text in pair):
        return tuple(Turn(str(question), str(answer)) for question, answer in pairs)
    return _pair_turns(_messages(value))


def _split_conversation(messages: Sequence[Json]) -> Conversation:
    """Return the turns before the last message of the user, and the text of that message."""
    turns = list(_messages(messages))
    last = max((i for i, (role, _) in enumerate(turns) if role in _USER), default=-1)
    return (_pair_turns(turns[:last]), turns[last][1]) if last >= 0 else ((), "")


def _pair_turns(messages: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> tuple[Turn, ...]:
    turns, question = [], ""
    for role, text in messages:
        if role in _USER:
            question = text
        elif role in _ASSISTANT and question:
            turns.append(Turn(question, text))
            question = ""
    return tuple(turns)


def _messages(value: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Yield role and text of messages: objects with `role` or `type` and `content`, or pairs."""
    for element in value:
        if isinstance(element, dict):
            message = element.get("message")
            inner = message if isinstance(message, dict) else element
            role, text = inner.get("role") or inner.get("type"), _content(inner.get("content"))
        elif isinstance(element, list) and len(element) == 2 and all(isinstance(each, str) for each in element):
            role, text = element
        elif isinstance(element, list):
            yield from _messages(element)
            continue
        else:
            continue
        if isinstance(role, str) and text:
            yield role.lower(), text


def _content(value: Json) -> str:
    """Return the text of a message, which may be a list of parts."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _read_text(value: Json, depth: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and depth <= _MAX_NESTING:
        for name in _TEXT:
            if text := _read_text(value.get(name), depth + 1):
                return text
    return ""


def _parse(value: Json) -> Json:
    """Return the JSON in a string that is an object or a list, other values unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value
