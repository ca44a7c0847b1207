"""Records of test set generation: evidence, drafts and verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.records import Evidence, Kind, Turn


@dataclass(frozen=True)
class Topic:
    """A leaf of the topic tree: its slug, the names on its path below the root, and a description of its content."""

    slug: str
    path: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True)
class Extract:
    """The characters [start, end) of a document; `text` holds them."""

    document_id: str
    title: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class EvidenceSet:
    """The evidence for a writer: extracts, each from a different document.

    `id` is derived from the task and the places. `topic` is a slug. `near` are the ids of related documents that are
    not evidence. A summary's source is removed from the corpus, so these documents must cover it.
    """

    id: str
    task: str
    topic: str
    extracts: tuple[Extract, ...]
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quote:
    """A writer's evidence for its question. Either field may be empty.

    `sentences` are the numbers of sentences as shown to the writer (from 1, over all extracts). `text` is the quoted
    wording, which verifies the numbers.
    """

    sentences: tuple[int, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Draft:
    """A question that may become a sample of the set.

    `id` is unique in a run, and equal in repeated runs. `gold` is empty until the quotes are located. `expression` is
    the writer's computation of a number in the answer ("(120 - 100) / 100"), or "" if nothing was computed. Turns of
    one conversation share the id `conversation`. `turn` is the number of this turn, from 0, and `history` holds the
    earlier turns. `removed` are documents that must not be in the released corpus, because they would make the sample
    trivial. `notes` are named facts for readers, such as the words that a planted error replaced. `was_corrected` is
    true after a correction by an inspection.
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


class NoDraftReason(StrEnum):
    """The reason why an evidence set has no draft.

    - DECLINED: the writer said that the task does not suit the evidence;
    - UNREADABLE: its reply could not be read;
    - FAILED: the request failed, which says nothing about the evidence. A later run asks again.
    """

    DECLINED = "declined"
    UNREADABLE = "unreadable"
    FAILED = "failed"


@dataclass(frozen=True)
class UndraftedEvidence:
    """An evidence set without drafts. `detail` is the writer's reason, or the error."""

    evidence: EvidenceSet
    cause: NoDraftReason
    detail: str


@dataclass(frozen=True)
class WrittenDrafts:
    """The drafts of evidence sets, in the order of the sets."""

    drafts: tuple[Draft, ...]
    not_drafted: tuple[UndraftedEvidence, ...] = ()


class VerdictState(StrEnum):
    """The verdict of a gate on a draft.

    - TAGGED: passed with a remark;
    - CORRECTED: replaced by another draft, which goes through the gates;
    - FAILED: neither accepted nor rejected, because a request failed. A later run asks again.
    """

    PASSED = "passed"
    TAGGED = "tagged"
    REJECTED = "rejected"
    CORRECTED = "corrected"
    FAILED = "failed"


@dataclass(frozen=True)
class GateVerdict:
    """The verdict of one gate on one draft.

    `reason` is a slug that counts in the coverage ("closed_book"), "" for PASSED. `detail` describes the finding for
    readers. `draft` is the draft with additions of the gate (its gold), or the corrected one; None if it is unchanged.
    """

    state: VerdictState
    reason: str = ""
    detail: str = ""
    draft: Draft | None = None


PASSED = GateVerdict(VerdictState.PASSED)
