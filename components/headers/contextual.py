"""A language model says where in its document a chunk stands."""

from dataclasses import dataclass
from typing import ClassVar

from components.asking.templates import chat
from components.asking.written_texts import wording_mistakes, written_texts
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import AskedText, Documents, Message, Spans, SpanTexts
from components.text.templates import fill


@dataclass(frozen=True)
class ContextualHeader:
    """A sentence or two that a model writes about each chunk, having read its document. Source: Anthropic 2024,
    "Introducing Contextual Retrieval".

    `instruction` has places for {document}, {chunk} and {title}; a server that keeps what equal requests begin with
    reads a document once if {document} stands before {chunk}. A reply that cannot be read is asked for again, with
    `reminder`, up to `max_attempts` times in all; then, and after a request that failed, the chunk has no header.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    max_attempts: int = 3

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Places that are missing or not known, and no attempt at all."""
        return [
            *wording_mistakes(self.instruction, ["{document}", "{chunk}"], ["{title}"]),
            *too_small(self, max_attempts=1),
        ]

    @property
    def writers(self) -> "tuple[ContextualHeader]":
        """Itself."""
        return (self,)

    def write_by_asking(self, documents: Documents, chunks: Spans, ask: Ask) -> list[AskedText]:
        """All chunks in one call: the model behind `ask` answers many requests at once."""
        texts = list(SpanTexts(documents.texts, chunks))
        messages = [
            self._messages(documents, document, text)
            for document, text in zip(chunks.document.tolist(), texts, strict=True)
        ]
        return written_texts(messages, texts, ask, self.reminder, self.max_attempts)

    def _messages(self, documents: Documents, document: int, chunk: str) -> tuple[Message, ...]:
        values = {"{document}": documents.texts[document], "{title}": documents.titles[document], "{chunk}": chunk}
        return chat(self.system, fill(self.instruction, values))
