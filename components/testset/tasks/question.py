"""A question with a short or a long answer, written in one request."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, WrittenDrafts
from components.testset.tasks.writer_replies import Reply, parse_quotes, select_notes, text_in
from components.testset.tasks.writer_wording import WriterWording
from components.testset.tasks.writing import EVIDENCE, ReplyForm, write_drafts
from components.testset.wording import TEXT


@dataclass(frozen=True)
class Question:
    """Writes extractive, multi-hop, contrasting or long-form questions; `wording` defines which.

    See OmniEval, section 3.2 and tables 6 and 7, and CRUD-RAG, section 3.4, for questions from one, two or three
    reports. A reply is an object with "question", "answer", "evidence" and, for a computed number, "expression"; or one
    with "not_applicable". `steps` are the keys of the writer's reasoning before its question, which the notes of the
    draft store for readers. If a reply cannot be read, the request is repeated, up to `max_attempts` attempts in total.
    """

    llm: LLM
    kind: Kind
    n_documents: int
    steps: tuple[str, ...]
    wording: WriterWording
    max_attempts: int = 3

    version: ClassVar[int] = 2
    removes_source: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, or for placeholders missing in the wording."""
        return [*too_small(self, n_documents=1, max_attempts=1), *self.wording.check()]

    @property
    def n_requests(self) -> int:
        """One request per evidence set."""
        return 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        """Return at most one draft for each evidence set."""
        form = ReplyForm(
            "question",
            {"question": TEXT, "answer": TEXT, "evidence": EVIDENCE, "expression": TEXT},
            partial(self._read, name),
        )
        return write_drafts(self, form, evidence, corpus, ask)

    def _read(self, name: str, evidence: EvidenceSet, reply: Reply) -> tuple[Draft, ...] | None:
        question, answer, quotes = text_in(reply, "question"), text_in(reply, "answer"), parse_quotes(reply)
        if not (question and answer and quotes):
            return None
        draft = Draft(
            evidence.id, name, evidence.topic, self.kind, evidence, question, (answer,), quotes,
            expression=text_in(reply, "expression"), notes=select_notes(reply, self.steps),
        )  # fmt: skip
        return (draft,)
