"""The gate that finds what a writer cites in the documents, and makes gold of it."""

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
    """Rejects drafts whose evidence is nowhere in the documents (`quote_not_found`) or in several places
    (`quote_ambiguous`), those over several texts that cite nothing of one (`evidence_unused`), and those that rest on a
    document which they take out of the corpus (`evidence_removed`); tags those whose words stand in another sentence
    than is cited (`cited_elsewhere`). All that pass have their gold.

    `max_added_sentences` is how far gold is widened that its document has more than once; 0 for not at all.
    """

    max_added_sentences: int

    version: ClassVar[int] = 1
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0
    tags: ClassVar[bool] = False

    def check(self) -> list[str]:
        return too_small(self, max_added_sentences=0)

    def applies_to(self, draft: Draft) -> bool:
        """To all but continuations, of which nobody knows where they stand."""
        return draft.kind is not Kind.CONTINUATION

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        return [locate(draft, corpus.texts, self.max_added_sentences) for draft in drafts]
