"""A question with a short or a long answer, for which a model is asked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, WrittenDraft
from components.testset.tasks.replies import Reply, notes_in, quotes_in, text_in
from components.testset.tasks.writer_wording import WriterWording
from components.testset.tasks.writing import EVIDENCE, Form, written
from components.testset.wording import TEXT


@dataclass(frozen=True)
class Question:
    """What makes an extractive, a multi-hop, a contrasting or a long-form question is in `wording`: see OmniEval,
    section 3.2 and tables 6 and 7, and CRUD-RAG, section 3.4, for those from one, two or three reports.

    A reply is an object with "question", "answer", "evidence" and, where a number was computed, "expression"; or one
    with "not_applicable". `steps` are the keys of what the writer puts down before its question, which people may read
    in the notes of the draft. A reply that cannot be read is asked for again, up to `max_attempts` times in all.
    """

    llm: LLM
    kind: Kind
    n_documents: int
    steps: tuple[str, ...]
    wording: WriterWording
    max_attempts: int = 3

    version: ClassVar[int] = 1
    removes_source: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Numbers out of range, places that the wording lacks."""
        return [*too_small(self, n_documents=1, max_attempts=1), *self.wording.check()]

    @property
    def n_requests(self) -> int:
        """One."""
        return 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDraft:
        """At most one draft of each evidence set."""
        form = Form(
            "question",
            {"question": TEXT, "answer": TEXT, "evidence": EVIDENCE, "expression": TEXT},
            partial(self._read, name),
        )
        return written(self, form, evidence, corpus, ask)

    def _read(self, name: str, own: EvidenceSet, reply: Reply) -> tuple[Draft, ...] | None:
        question, answer, quotes = text_in(reply, "question"), text_in(reply, "answer"), quotes_in(reply)
        if not (question and answer and quotes):
            return None
        draft = Draft(
            own.id, name, own.topic, self.kind, own, question, (answer,), quotes,
            expression=text_in(reply, "expression"), notes=notes_in(reply, self.steps),
        )  # fmt: skip
        return (draft,)
