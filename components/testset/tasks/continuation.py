"""Continuation of a text: the first half is shown, and the second half is the reference. Needs no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.limits import too_small
from components.protocols import Ask
from components.records import Kind
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, NoDraftReason, UndraftedEvidence, WrittenDrafts
from components.text.sentences import sentence_ends


@dataclass(frozen=True)
class Continuation:
    """CRUD-RAG's continuation, section 3.3: a text is split between two sentences near its middle.

    As in the paper, the text leaves the corpus. Otherwise a system would only have to find the second half. Related
    documents remain, but how much of the second half they contain is unknown. The samples therefore have no gold. Texts
    of fewer than `least_sentences` sentences are skipped.
    """

    least_sentences: int = 4

    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = Kind.CONTINUATION
    removes_source: ClassVar[bool] = True
    llm: ClassVar[None] = None
    n_documents: ClassVar[int] = 1
    n_requests: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return an error message for a number out of range."""
        return too_small(self, least_sentences=2)

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        """Return one draft for each evidence set whose text has enough sentences; the others count as declined."""
        drafts, short = [], []
        for entry in evidence:
            (extract,) = entry.extracts
            ends = sentence_ends(extract.text).tolist()
            if len(ends) < self.least_sentences:
                detail = f"{len(ends)} sentences, expected at least {self.least_sentences}"
                short.append(UndraftedEvidence(entry, NoDraftReason.DECLINED, detail))
                continue
            middle = min(ends[:-1], key=lambda end: abs(end - len(extract.text) / 2))
            beginning, rest = extract.text[:middle].strip(), extract.text[middle:].strip()
            removed = (extract.document_id,)
            drafts.append(Draft(entry.id, name, entry.topic, self.kind, entry, beginning, (rest,), removed=removed))
        return WrittenDrafts(tuple(drafts), tuple(short))
