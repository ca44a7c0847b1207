"""One instruction per kind of task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Kind, Message, Passage, Sample
from components.text.templates import fill

_FIELDS = ("{question}", "{context}", "{history}")


@dataclass(frozen=True)
class PromptByKind:
    """Chooses a template by the sample's kind and fills in {question}, {context} and {history}; nothing else is
    replaced, and what is filled in is never read as a template.

    Without passages `closed_book` stands in the place of the context. Each passage is written as `passage` with {n}
    (from 1), {text}, {title} and {metadata} (as "name: value; name: value") of its document.
    """

    system: str
    qa: str
    long_form: str
    conversation: str
    continuation: str
    summarization: str
    correction: str
    passage: str
    turn: str
    closed_book: str

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Templates that lack a place for the question or the context."""
        return [
            f"{kind.value}: the template has no {place}"
            for kind in Kind
            for place in (*_FIELDS[:2], *(_FIELDS[2:] if kind is Kind.CONVERSATION else ()))
            if place not in getattr(self, kind.value)
        ]

    def render(self, sample: Sample, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """A system message (unless it is empty) and a user message."""
        context = "\n".join(fill(self.passage, _places(n, passage)) for n, passage in enumerate(passages, 1))
        history = "\n".join(
            fill(self.turn, {"{question}": turn.question, "{answer}": turn.answer}) for turn in sample.history
        )
        values = {"{question}": sample.question, "{context}": context or self.closed_book, "{history}": history}
        user = Message("user", fill(getattr(self, sample.kind.value), values))
        return (Message("system", self.system), user) if self.system else (user,)


def _places(n: int, passage: Passage) -> dict[str, str]:
    metadata = "; ".join(f"{name}: {value}" for name, value in passage.metadata.items())
    return {"{n}": str(n), "{text}": passage.text, "{title}": passage.title, "{metadata}": metadata}
