"""Gate that rejects questions over several texts if one of the texts is contained in the others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from components.limits import too_small
from components.protocols import Ask
from components.records import Evidence
from components.testset.gates.findings import Finding, decide_verdict
from components.testset.gates.form import ASKED
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, Extract, GateVerdict
from components.text.similar_documents import contained_share

_MIN_CHARACTERS = 16
"""Minimum length. A shorter text would match by chance."""


@dataclass(frozen=True)
class Containment:
    """Rejects drafts over several documents if the other texts together contain one of their texts.

    The texts are the extracts, or the gold of a draft without extracts. A text is contained by the share of its
    8-character shingles in the others: `text_half_contained` from `half` on, `text_contained` from `whole` on. For
    texts shorter than `shortest` characters, such as a sentence that all reports share, only `whole` applies.
    """

    half: float
    whole: float
    shortest: int
    tags: bool

    version: ClassVar[int] = 1
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0

    def check(self) -> list[str]:
        problems = too_small(self, shortest=_MIN_CHARACTERS)
        if not 0 < self.half <= self.whole <= 1:
            shares = f"got {self.half:g} and {self.whole:g}, expected shares above 0, and half at most whole"
            problems.append(f"half and whole: {shares}")
        return problems

    def applies_to(self, draft: Draft) -> bool:
        """Return True for questions over several documents.

        They include questions whose two gold texts are overlapping spans of one document.
        """
        texts: Sequence[Extract | Evidence] = draft.evidence.extracts or draft.gold
        is_over_several = len({text.document_id for text in texts}) > 1 or any(
            _overlap(one, other) for one, other in combinations(texts, 2)
        )
        return draft.kind in ASKED and is_over_several

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        return [decide_verdict(self._findings(_draft_texts(draft, corpus.texts)), self.tags) for draft in drafts]

    def _findings(self, texts: Sequence[str]) -> Iterator[Finding]:
        """Yield the most contained text, if any is contained."""
        contained = []
        for index, text in enumerate(texts):
            share = contained_share(text, [*texts[:index], *texts[index + 1 :]])
            if len(text) >= _MIN_CHARACTERS and share >= (self.half if len(text) >= self.shortest else self.whole):
                contained.append((share, -index))
        if contained:
            share, index = max(contained)
            reason = "text_contained" if share >= self.whole else "text_half_contained"
            yield Finding(reason, f"{share:.0%} of text {1 - index} of {len(texts)}: {texts[-index]}")


def _overlap(one: Extract | Evidence, other: Extract | Evidence) -> bool:
    """Return True for overlapping units of one document; a unit without positions is the whole document."""
    if one.start is None or other.start is None or one.end is None or other.end is None:
        return True
    return one.start < other.end and other.start < one.end


def _draft_texts(draft: Draft, texts: Mapping[str, str]) -> list[str]:
    """Return the texts of a draft. Gold outside the corpus has no text."""
    if draft.evidence.extracts:
        return [extract.text for extract in draft.evidence.extracts]
    return [texts[unit.document_id][unit.start : unit.end] for unit in draft.gold if unit.document_id in texts]
