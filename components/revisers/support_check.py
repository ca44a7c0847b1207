"""The request that checks an answer against its passages, which all revisers share."""

from collections.abc import Callable, Mapping, Sequence

from components.asking.prompt_parts import chat_messages, number_lines, question_in_context
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.protocols import Ask
from components.records import AnswerCheck, JudgeInput, Message, Request
from components.text.templates import fill

PLACEHOLDERS = ("{question}", "{passages}", "{answer}")
"""Placeholders in the instruction of a check."""

PURPOSE = "revision"
"""Purpose of all requests of revisers, under which their replies are stored. An answer is checked once."""


def has_passages(item: JudgeInput) -> bool:
    """Return True if there is a text to check the answer against."""
    return any(passage.text.strip() for passage in item.passages)


def messages_about(
    item: JudgeInput, system: str, instruction: str, others: Mapping[str, str] | None = None
) -> tuple[Message, ...]:
    """Return the messages with the question, the numbered passages and the answer. `others` are further
    placeholders.
    """
    texts = [" ".join(passage.text.split()) for passage in item.passages]
    values = dict(zip(PLACEHOLDERS, (question_in_context(item.sample), number_lines(texts), item.answer), strict=True))
    return chat_messages(system, fill(instruction, {**values, **(others or {})}))


def verify_answers(
    answers: Sequence[JudgeInput],
    request: Callable[[JudgeInput], Request],
    read: Callable[[str], AnswerCheck | None],
    ask: Ask,
    reminder: str,
    max_attempts: int,
) -> list[AnswerCheck]:
    """Return the verdict on each answer, from one request each, or the reason why it has no verdict."""
    inquiries = [Inquiry(request(item), read) for item in answers]
    return [
        AnswerCheck(None, unread=reply.unread, failed=reply.failed) if isinstance(reply, UnreadableReply) else reply
        for reply in ask_until_readable(inquiries, ask, reminder, max_attempts)
    ]
