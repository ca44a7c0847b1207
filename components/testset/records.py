"""What flows from a corpus to a set of questions with gold: evidence, drafts, verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.records import Evidence, Kind, Turn


@dataclass(frozen=True)
class Topic:
    """A leaf of the topic tree: its slug, the names from the root's child down to it, and what belongs to it."""

    slug: str
    path: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True)
class Extract:
    """The characters [start, end) of a document, which are `text`."""

    document_id: str
    title: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class EvidenceSet:
    """What a writer is given to write of: extracts, each of another document. `id` stands for the task and the places.

    `topic` is a slug. `near` are the ids of documents about the same matter that are no evidence: a summary's source is
    taken out of the corpus, and they must cover it.
    """

    id: str
    task: str
    topic: str
    extracts: tuple[Extract, ...]
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quote:
    """What a writer says that its question rests on: the numbers of sentences as they were shown to it (from 1, over
    all extracts), and the words themselves, by which these are checked. Either may be missing.
    """

    sentences: tuple[int, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Draft:
    """A question that may become a sample of the set.

    `id` is unique in a run and equal in each. Until its quotes are located, `gold` is empty. `expression` is how the
    writer computed a number of the answer ("(120 - 100) / 100"), "" where nothing was computed. `conversation` is the
    id that the turns of one conversation share, `turn` the number of this one, from 0; `history` holds those before.
    `removed` are documents that must not be in the released corpus, as the sample would be no task with them.
    `notes` are facts for people by name, such as what a planted error replaced. `was_corrected` after an inspection.
    """

    id: str
    task: str
    topic: str
    kind: Kind
    evidence: EvidenceSet
    question: str
    references: tuple[str, ...]
    quotes: tuple[Quote, ...] = ()
    gold: tuple[Evidence, ...] = ()
    history: tuple[Turn, ...] = ()
    conversation: str = ""
    turn: int = 0
    expression: str = ""
    removed: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    was_corrected: bool = False


class Refusal(StrEnum):
    """Why no draft came of an evidence set: the writer said that the task cannot be done with it, its reply could not
    be read, or the request failed (which says nothing of the evidence: a later run asks again).
    """

    DECLINED = "declined"
    UNREADABLE = "unreadable"
    FAILED = "failed"


@dataclass(frozen=True)
class NotDrafted:
    """An evidence set without drafts. `detail` is what the writer said, or what went wrong."""

    evidence: EvidenceSet
    refusal: Refusal
    detail: str


@dataclass(frozen=True)
class WrittenDraft:
    """What came of evidence sets, in their order."""

    drafts: tuple[Draft, ...]
    not_drafted: tuple[NotDrafted, ...] = ()


class VerdictState(StrEnum):
    """What a gate says of a draft. TAGGED passes with a remark; CORRECTED is out, and another draft goes through the
    gates in its place; FAILED is a request that failed: neither accepted nor rejected, a later run asks again.
    """

    PASSED = "passed"
    TAGGED = "tagged"
    REJECTED = "rejected"
    CORRECTED = "corrected"
    FAILED = "failed"


@dataclass(frozen=True)
class GateVerdict:
    """Of one gate on one draft. `reason` is a slug that counts in the coverage ("closed_book"), "" for PASSED; `detail`
    is what was seen, for people. `draft` is the draft with what the gate found (its gold), or the corrected one; None
    where it stays as it was.
    """

    state: VerdictState
    reason: str = ""
    detail: str = ""
    draft: Draft | None = None


PASSED = GateVerdict(VerdictState.PASSED)
