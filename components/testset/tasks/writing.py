"""Asking a writer about many evidence sets, and what becomes of its replies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from components.asking.until_readable import Inquiry, Unread, ask_until_readable
from components.protocols import Ask
from components.records import Kind, ScoreState
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, NotDrafted, Refusal, WrittenDraft
from components.testset.tasks.replies import Reply, read_reply
from components.testset.tasks.writer_wording import WriterWording
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


@dataclass(frozen=True)
class Form:
    """What a reply that brings drafts has beside the writer's steps: something under `key`, and `properties`, by name
    their JSON schemas, of which drafts are read.
    """

    key: str
    properties: Mapping[str, Mapping[str, Any]]
    read: Read


class WritingTask(Protocol):
    """What a task says of how its writer is asked."""

    @property
    def kind(self) -> Kind:
        """Of its drafts."""

    @property
    def wording(self) -> WriterWording:
        """What the writer is told."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What the writer puts down first: keys of its reply."""

    @property
    def max_attempts(self) -> int:
        """How often it is asked for a reply that can be read, in all."""


def written(
    task: WritingTask, form: Form, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask
) -> WrittenDraft:
    """What came of each evidence set, about which the writer is asked once."""
    # Whoever keeps to the schema must fill in all of it: what is empty unless the writer declines is among it.
    schema = object_schema(**dict.fromkeys(task.steps, TEXT), not_applicable=TEXT, **form.properties)
    inquiries: list[Inquiry[Result]] = [
        Inquiry(task.wording.request(own, corpus, task.kind, schema), partial(_result, form, own)) for own in evidence
    ]
    results: list[Result | Unread] = ask_until_readable(inquiries, ask, task.wording.reminder, task.max_attempts)
    drafts: list[Draft] = []
    not_drafted: list[NotDrafted] = []
    for own, result in zip(evidence, results, strict=True):
        match result:
            case Declined(reason):
                not_drafted.append(NotDrafted(own, Refusal.DECLINED, reason))
            case Unread(state, reason):
                refusal = Refusal.FAILED if state is ScoreState.FAILED else Refusal.UNREADABLE
                not_drafted.append(NotDrafted(own, refusal, reason))
            case _:
                drafts.extend(result)
    return WrittenDraft(tuple(drafts), tuple(not_drafted))


def _result(form: Form, evidence: EvidenceSet, text: str) -> Result | None:
    reply = read_reply(text, form.key)
    if isinstance(reply, str):
        return Declined(reply)
    return None if reply is None else form.read(evidence, reply) or None
