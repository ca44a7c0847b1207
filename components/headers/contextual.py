"""Headers in which a language model describes a chunk's place in its document."""

from dataclasses import dataclass
from typing import ClassVar

from components.asking.prompt_parts import chat_messages
from components.asking.written_texts import wording_problems, write_texts
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import AskedText, Documents, Message, Spans, SpanTexts
from components.text.templates import fill


@dataclass(frozen=True)
class ContextualHeader:
    """Has a model that reads the whole document write a sentence or two about each chunk.

    `instruction` has placeholders for {document}, {chunk} and {title}. Put {document} before {chunk}: a server with a
    prefix cache then reads each document once. After an unreadable reply the request is repeated with `reminder`, up
    to `max_attempts` attempts in total. A chunk without a readable reply has no header.

    Source: Anthropic 2024, "Introducing Contextual Retrieval".
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    max_attempts: int = 3

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for missing or unknown placeholders, and for fewer than one attempt."""
        return [
            *wording_problems(self.instruction, ["{document}", "{chunk}"], ["{title}"]),
            *too_small(self, max_attempts=1),
        ]

    @property
    def writers(self) -> "tuple[ContextualHeader]":
        """The header itself, the only writer."""
        return (self,)

    def write_by_asking(self, documents: Documents, chunks: Spans, ask: Ask) -> list[AskedText]:
        """Return the headers of all chunks. All requests are sent in one call."""
        texts = list(SpanTexts(documents.texts, chunks))
        messages = [
            self._messages(documents, document, text)
            for document, text in zip(chunks.document.tolist(), texts, strict=True)
        ]
        return write_texts(messages, texts, ask, self.instruction, self.reminder, self.max_attempts)

    def _messages(self, documents: Documents, document: int, chunk: str) -> tuple[Message, ...]:
        values = {"{document}": documents.texts[document], "{title}": documents.titles[document], "{chunk}": chunk}
        return chat_messages(self.system, fill(self.instruction, values))
