"""Filling in what a judge is shown."""

import re
from collections.abc import Mapping, Sequence

from components.records import Message, Sample


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replaces every place such as {question} in one pass, so that braces inside a value stay as they are."""
    return re.sub("|".join(map(re.escape, values)), lambda place: values[place.group()], template)


def numbered(texts: Sequence[str]) -> str:
    """Texts one below the other, as [1], [2] and so on."""
    return "\n".join(f"[{n}] {text}" for n, text in enumerate(texts, start=1))


def asked_question(sample: Sample) -> str:
    """The question; in a conversation with the earlier turns, without which it cannot be understood."""
    turns = [f"user: {turn.question}\nassistant: {turn.answer}" for turn in sample.history]
    return "\n".join([*turns, f"user: {sample.question}"]) if turns else sample.question


def chat(system: str, user: str) -> tuple[Message, ...]:
    """A system message, unless it is empty, and a user message."""
    return (Message("system", system), Message("user", user)) if system else (Message("user", user),)
