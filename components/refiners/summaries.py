"""Summaries of documents, written by a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.prompt_parts import chat_messages
from components.asking.written_texts import wording_problems, write_texts
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import AskedText, Documents, Message, RefinedDocuments
from components.refiners.pieces import Piece, assemble_documents, copy_piece
from components.text.templates import fill


@dataclass(frozen=True)
class Summaries:
    """A summary by a language model that replaces the whole text of each document.

    Gold that is found in a summary counts as found, regardless of what the summary says about it. `instruction` has
    placeholders for {text} and {title}. A reply that cannot be parsed is requested again with `reminder`, up to
    `max_attempts` attempts in total. A document stays unchanged if all attempts fail, or if its request failed. Blank
    documents are not requested.
    Source: the Multi-Reranker system for the ACM-ICAIF '24 FinanceRAG challenge, pre-retrieval.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    max_attempts: int = 3

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for missing or unknown placeholders, and for `max_attempts` below 1."""
        return [*wording_problems(self.instruction, ["{text}"], ["{title}"]), *too_small(self, max_attempts=1)]

    @property
    def steps(self) -> "tuple[Summaries]":
        """The refiner itself, its only step."""
        return (self,)

    def messages(self, documents: Documents) -> Sequence[tuple[Message, ...]]:
        """Return the messages of one request per document that is not blank."""
        pairs = zip(documents.titles, documents.texts, strict=True)
        return [
            chat_messages(self.system, fill(self.instruction, {"{title}": title, "{text}": text}))
            for title, text in pairs
            if text.strip()
        ]

    def refine_by_asking(self, documents: Documents, ask: Ask) -> tuple[RefinedDocuments, list[AskedText]]:
        """Return all documents, from one call of `ask`, so that the model can answer many requests in parallel."""
        rows = [row for row, text in enumerate(documents.texts) if text.strip()]
        topics = [documents.titles[row] or documents.ids[row] for row in rows]
        written = write_texts(self.messages(documents), topics, ask, self.instruction, self.reminder, self.max_attempts)
        pieces = [[copy_piece(text)] for text in documents.texts]
        for row, summary in zip(rows, written, strict=True):
            if summary.text:
                pieces[row] = [Piece(summary.text, 0, len(documents.texts[row]))]
        return assemble_documents(
            documents, pieces, {"n_summaries": sum(bool(summary.text) for summary in written)}
        ), written
