"""A summary of an event that documents other than the summarized one also cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.protocols import SourceCorpus
from components.testset.quotes import numbered_sentences
from components.testset.records import Draft, EvidenceSet, Quote, WrittenDrafts
from components.testset.tasks.writer_replies import Reply, parse_quotes, select_notes, text_in
from components.testset.tasks.writer_wording import WriterWording
from components.testset.tasks.writing import EVIDENCE, ReplyForm, write_drafts
from components.testset.wording import TEXT


@dataclass(frozen=True)
class Summary:
    """CRUD-RAG's summary, section 3.2, with a check that the paper lacks.

    The writer sees the source and its neighbours. It names the event in a sentence, and summarizes what the source
    reports about it and the neighbours cover. The source leaves the corpus, and the gold are sentences of the
    neighbours.

    A reply is an object with "event", "summary" and "evidence", or one with "not_applicable". Citations of the source
    are dropped. A reply without other citations cannot be read. `steps` are as in `Question`.
    """

    llm: LLM
    n_documents: int
    steps: tuple[str, ...]
    wording: WriterWording
    max_attempts: int = 3

    version: ClassVar[int] = 2
    kind: ClassVar[Kind] = Kind.SUMMARIZATION
    removes_source: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, or for placeholders missing in the wording."""
        return [*too_small(self, n_documents=2, max_attempts=1), *self.wording.check()]

    @property
    def n_requests(self) -> int:
        """One request per evidence set."""
        return 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        """Return at most one draft for each evidence set. The event is its question, the summary its reference."""
        form = ReplyForm("summary", {"event": TEXT, "summary": TEXT, "evidence": EVIDENCE}, partial(self._read, name))
        return write_drafts(self, form, evidence, corpus, ask)

    def _read(self, name: str, evidence: EvidenceSet, reply: Reply) -> tuple[Draft, ...] | None:
        event, summary, quotes = text_in(reply, "event"), text_in(reply, "summary"), _context_quotes(evidence, reply)
        if not (event and summary and quotes):
            return None
        draft = Draft(
            evidence.id, name, evidence.topic, self.kind, evidence, event, (summary,), quotes,
            removed=(evidence.extracts[0].document_id,), notes=select_notes(reply, self.steps),
        )  # fmt: skip
        return (draft,)


def _context_quotes(evidence: EvidenceSet, reply: Reply) -> tuple[Quote, ...]:
    """Return the quotes of documents that stay in the corpus. Their sentences follow the sentences of the source."""
    n_of_source = sum(sentence.extract == 0 for sentence in numbered_sentences(evidence.extracts))
    quotes = []
    for quote in parse_quotes(reply):
        sentences = tuple(number for number in quote.sentences if number > n_of_source)
        if sentences:
            quotes.append(Quote(sentences, quote.text))
    return tuple(quotes)
