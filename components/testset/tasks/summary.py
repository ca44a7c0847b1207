"""A summary of an event, of which other documents than the one that was summarised must tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.protocols import SourceCorpus
from components.testset.quotes import numbered_sentences
from components.testset.records import Draft, EvidenceSet, Quote, WrittenDraft
from components.testset.tasks.replies import Reply, notes_in, quotes_in, text_in
from components.testset.tasks.writer_wording import WriterWording
from components.testset.tasks.writing import EVIDENCE, Form, written
from components.testset.wording import TEXT


@dataclass(frozen=True)
class Summary:
    """CRUD-RAG's summary, section 3.2, with the check that it lacks: the writer sees the source and its neighbours,
    names the event in a sentence and summarises what the source says of it and the neighbours cover. The source leaves
    the corpus; the gold are sentences of the others.

    A reply is an object with "event", "summary" and "evidence", or one with "not_applicable". Citations of the source
    are dropped; a reply without others cannot be read. `steps` as in `Question`.
    """

    llm: LLM
    n_documents: int
    steps: tuple[str, ...]
    wording: WriterWording
    max_attempts: int = 3

    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = Kind.SUMMARIZATION
    removes_source: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Numbers out of range, places that the wording lacks."""
        return [*too_small(self, n_documents=2, max_attempts=1), *self.wording.check()]

    @property
    def n_requests(self) -> int:
        """One."""
        return 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDraft:
        """At most one draft of each evidence set: the event is its question, the summary its reference."""
        form = Form("summary", {"event": TEXT, "summary": TEXT, "evidence": EVIDENCE}, partial(self._read, name))
        return written(self, form, evidence, corpus, ask)

    def _read(self, name: str, own: EvidenceSet, reply: Reply) -> tuple[Draft, ...] | None:
        event, summary, quotes = text_in(reply, "event"), text_in(reply, "summary"), _of_others(own, reply)
        if not (event and summary and quotes):
            return None
        draft = Draft(
            own.id, name, own.topic, self.kind, own, event, (summary,), quotes,
            removed=(own.extracts[0].document_id,), notes=notes_in(reply, self.steps),
        )  # fmt: skip
        return (draft,)


def _of_others(evidence: EvidenceSet, reply: Reply) -> tuple[Quote, ...]:
    """What is cited of documents that stay: sentences after those of the first one."""
    n_of_source = sum(shown.extract == 0 for shown in numbered_sentences(evidence.extracts))
    kept = []
    for quote in quotes_in(reply):
        sentences = tuple(number for number in quote.sentences if number > n_of_source)
        if sentences:
            kept.append(Quote(sentences, quote.text))
    return tuple(kept)
