"""Asking a writer about many evidence sets, and what becomes of its replies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from components.asking.until_readable import Inquiry, Unread, ask_until_readable
from components.protocols import Ask
from components.records import Request, ScoreState
from components.testset.records import Draft, EvidenceSet, NotDrafted, Refusal, Written
from components.testset.tasks.replies import Reply, read_reply
from components.testset.wording import TEXT, object_schema

EVIDENCE = {
    "type": "array",
    "items": object_schema(sentences={"type": "array", "items": {"type": "integer"}}, quote=TEXT),
}
"""JSON schema of what is cited."""

Read = Callable[[EvidenceSet, Reply], tuple[Draft, ...] | None]
"""The drafts in a reply about an evidence set; None for a reply that lacks something."""


@dataclass(frozen=True)
class Declined:
    """The writer says that the task cannot be done with the evidence, and why."""

    reason: str


Result = tuple[Draft, ...] | Declined


def reply_schema(steps: Sequence[str], **own: Mapping[str, Any]) -> Mapping[str, Any]:
    """JSON schema of a reply: the steps, then what is empty unless the writer declines, then what it writes."""
    return object_schema(**dict.fromkeys(steps, TEXT), not_applicable=TEXT, **own)


def inquiry(evidence: EvidenceSet, request: Request, key: str, read: Read) -> Inquiry[Result]:
    """Asks for drafts; `key` is what a reply has that brings some."""
    return Inquiry(request, partial(_result, evidence, key, read))


def written(
    evidence: Sequence[EvidenceSet], inquiries: Sequence[Inquiry[Result]], ask: Ask, reminder: str, max_attempts: int
) -> Written:
    """What came of each evidence set, about which there is one inquiry."""
    drafts: list[Draft] = []
    not_drafted: list[NotDrafted] = []
    results: list[Result | Unread] = ask_until_readable(inquiries, ask, reminder, max_attempts)
    for own, result in zip(evidence, results, strict=True):
        match result:
            case Declined(reason):
                not_drafted.append(NotDrafted(own, Refusal.DECLINED, reason))
            case Unread(state, reason):
                refusal = Refusal.FAILED if state is ScoreState.FAILED else Refusal.UNREADABLE
                not_drafted.append(NotDrafted(own, refusal, reason))
            case _:
                drafts.extend(result)
    return Written(tuple(drafts), tuple(not_drafted))


def _result(evidence: EvidenceSet, key: str, read: Read, text: str) -> Result | None:
    reply = read_reply(text, key)
    if isinstance(reply, str):
        return Declined(reply)
    return None if reply is None else read(evidence, reply) or None
