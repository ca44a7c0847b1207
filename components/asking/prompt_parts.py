"""Parts of prompts: questions, numbered texts, messages."""

from collections.abc import Sequence

from components.records import Message, Sample


def number_lines(texts: Sequence[str]) -> str:
    """Return the texts, one per line, numbered [1], [2] and so on."""
    return "\n".join(f"[{n}] {text}" for n, text in enumerate(texts, start=1))


def question_in_context(sample: Sample) -> str:
    """Return the question, in a conversation together with the earlier turns that it refers to."""
    turns = [f"user: {turn.question}\nassistant: {turn.answer}" for turn in sample.history]
    return "\n".join([*turns, f"user: {sample.question}"]) if turns else sample.question


def questions_by_line(questions: Sequence[str]) -> str:
    """Return the questions of a conversation, each on a separate line, also a question of several lines."""
    return "\n".join(" ".join(question.split()) for question in questions)


def reference_text(sample: Sample) -> str:
    """Return the reference; several references as numbered alternatives; "" for none."""
    references = [reference for reference in sample.references if reference.strip()]
    return references[0] if len(references) == 1 else number_lines(references)


def chat_messages(system: str, user: str) -> tuple[Message, ...]:
    """Return a system message, if it is not empty, and a user message."""
    return (Message("system", system), Message("user", user)) if system else (Message("user", user),)
