"""Texts that a language model writes, one per subject."""

import re
from collections.abc import Sequence

from components.asking.model_reply import repeats_heading, strip_thoughts
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.protocols import Ask
from components.records import AskedText, Kind, Message, Request, Sample
from components.text.templates import missing_placeholders

_PLACEHOLDER = re.compile(r"{[a-z_]+}")


def write_texts(
    messages: Sequence[tuple[Message, ...]],
    topics: Sequence[str],
    ask: Ask,
    instruction: str,
    reminder: str,
    max_attempts: int,
) -> list[AskedText]:
    """Return the model's reply to each of the messages, which fill `instruction`; `topics` describe them.

    A blank, refused or truncated reply is unreadable, and so is one that copies a heading of `instruction`: the request
    is repeated with `reminder`, up to `max_attempts` attempts in total.
    """

    def read(reply: str) -> str | None:
        return read_text(reply, instruction)

    inquiries = []
    for number, (message, topic) in enumerate(zip(messages, topics, strict=True)):
        about = Sample(f"text {number}", "", Kind.QA, topic, ())  # a backend reads the messages only
        inquiries.append(Inquiry(Request(about.id, message, about, ()), read))
    return [to_asked_text(reply) for reply in ask_until_readable(inquiries, ask, reminder, max_attempts)]


def read_text(reply: str, instruction: str) -> str | None:
    """Return a reply without thoughts; None for a blank one, and for one that copies a heading of `instruction`."""
    text = strip_thoughts(reply).strip()
    return text if text and not repeats_heading(text, instruction) else None


def to_asked_text(reply: str | UnreadableReply) -> AskedText:
    """Return a text, or the reason why there is none, as a record."""
    return (
        AskedText("", unread=reply.unread, failed=reply.failed)
        if isinstance(reply, UnreadableReply)
        else AskedText(reply)
    )


def wording_problems(instruction: str, needed: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return error messages for placeholders such as {text} that an instruction lacks, and for unknown ones."""
    lacking = missing_placeholders("instruction", instruction, needed)
    known = [*needed, *others]
    unknown = [place for place in dict.fromkeys(_PLACEHOLDER.findall(instruction)) if place not in known]
    return lacking + [
        f"instruction: unknown placeholder {place}, expected only {' and '.join(known)}" for place in unknown
    ]
