"""Gate that locates a writer's citations in the documents, and turns them into gold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.limits import too_small
from components.protocols import Ask
from components.records import Kind
from components.testset.protocols import SourceCorpus
from components.testset.quotes import locate
from components.testset.records import Draft, GateVerdict


@dataclass(frozen=True)
class Location:
    """Locates the evidence of drafts. All drafts that pass have gold.

    - `quote_not_found`: the evidence is not in the documents;
    - `quote_ambiguous`: it is in several places;
    - `evidence_unused`: a draft over several texts does not cite one of the texts;
    - `evidence_removed`: the evidence is in a document that the draft removes from the corpus;
    - `cited_elsewhere`: the words are in a sentence other than the cited one. This is only a remark.

    Gold that occurs in its document more than once is widened by at most `max_added_sentences`; 0 for no widening.
    """

    max_added_sentences: int

    version: ClassVar[int] = 1
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0
    tags: ClassVar[bool] = False

    def check(self) -> list[str]:
        return too_small(self, max_added_sentences=0)

    def applies_to(self, draft: Draft) -> bool:
        """Return True for all drafts but continuations, which have no gold."""
        return draft.kind is not Kind.CONTINUATION

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        return [locate(draft, corpus.texts, self.max_added_sentences) for draft in drafts]
