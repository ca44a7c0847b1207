"""Requests to a writer for many evidence sets, and the drafts from its replies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.protocols import Ask
from components.records import Kind, ScoreState
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, NoDraftReason, UndraftedEvidence, WrittenDrafts
from components.testset.tasks.writer_replies import Reply, read_reply
from components.testset.tasks.writer_wording import WriterWording
from components.testset.wording import TEXT, object_schema

EVIDENCE = {
    "type": "array",
    "items": object_schema(sentences={"type": "array", "items": {"type": "integer"}}, quote=TEXT),
}
"""JSON schema of citations."""

Read = Callable[[EvidenceSet, Reply], tuple[Draft, ...] | None]
"""Function that returns the drafts in a reply about an evidence set; None for an incomplete reply."""


@dataclass(frozen=True)
class WriterRefusal:
    """The writer's reason why the task does not suit the evidence."""

    reason: str


Result = tuple[Draft, ...] | WriterRefusal


@dataclass(frozen=True)
class ReplyForm:
    """The form of a reply with drafts, besides the writer's steps.

    A reply has a value under `key`, and `properties` with their JSON schemas by name, from which drafts are read.
    """

    key: str
    properties: Mapping[str, Mapping[str, object]]
    read: Read


class WritingTask(Protocol):
    """The settings of a task that determine its requests."""

    @property
    def kind(self) -> Kind:
        """Kind of the samples that it drafts."""

    @property
    def wording(self) -> WriterWording:
        """Wording of the writer's prompt."""

    @property
    def steps(self) -> tuple[str, ...]:
        """Keys of the writer's reasoning, which come first in its reply."""

    @property
    def max_attempts(self) -> int:
        """Maximum number of requests per evidence set until a reply can be read."""


def write_drafts(
    task: WritingTask, form: ReplyForm, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask
) -> WrittenDrafts:
    """Return the result of each evidence set, with one request per set."""
    # The schema requires all its properties, including `not_applicable`, which is empty unless the writer declines.
    schema = object_schema(**dict.fromkeys(task.steps, TEXT), not_applicable=TEXT, **form.properties)
    inquiries: list[Inquiry[Result]] = [
        Inquiry(task.wording.request(entry, corpus, task.kind, schema), partial(_result, form, entry))
        for entry in evidence
    ]
    results: list[Result | UnreadableReply] = ask_until_readable(
        inquiries, ask, task.wording.reminder, task.max_attempts
    )
    drafts: list[Draft] = []
    not_drafted: list[UndraftedEvidence] = []
    for entry, result in zip(evidence, results, strict=True):
        match result:
            case WriterRefusal(reason):
                not_drafted.append(UndraftedEvidence(entry, NoDraftReason.DECLINED, reason))
            case UnreadableReply(state, reason):
                cause = NoDraftReason.FAILED if state is ScoreState.FAILED else NoDraftReason.UNREADABLE
                not_drafted.append(UndraftedEvidence(entry, cause, reason))
            case _:
                drafts.extend(result)
    return WrittenDrafts(tuple(drafts), tuple(not_drafted))


def _result(form: ReplyForm, evidence: EvidenceSet, text: str) -> Result | None:
    reply = read_reply(text, form.key)
    if isinstance(reply, str):
        return WriterRefusal(reply)
    return None if reply is None else form.read(evidence, reply) or None
