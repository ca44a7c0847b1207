"""Gate that checks if a question can be understood without other texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import ClassVar, NamedTuple

from components.asking.model_reply import parse_flag, read_object
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.testset.gates.findings import Finding
from components.testset.gates.form import ASKED
from components.testset.gates.gate_prompts import question_text, verdict_on
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict, VerdictState
from components.testset.wording import FLAG, TEXT, Wording, object_schema

_SCHEMA = object_schema(about=TEXT, missing=TEXT, self_contained=FLAG)


class ClarityReply(NamedTuple):
    """A reply that says if a question is clear, with its subject or with the missing part."""

    is_clear: bool
    detail: str


@dataclass(frozen=True)
class SelfContained:
    """A model that sees only the question must be able to say what it asks about, else `not_self_contained`.

    A later turn of a conversation must be clear with the earlier turns, and unclear without them. Otherwise it is
    `history_not_needed` and does not test a conversation. Applies to questions. `wording` has a placeholder for
    {question}.
    """

    llm: LLM
    wording: Wording
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 3
    n_requests: ClassVar[int] = 2

    def check(self) -> list[str]:
        return too_small(self, max_attempts=1) + self.wording.problems("wording", ("{question}",))

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in ASKED

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        versions = [[draft, replace(draft, history=())] if draft.history else [draft] for draft in drafts]
        flat = [one for group in versions for one in group]
        inquiries = [self._inquiry(f"question {n}", one) for n, one in enumerate(flat)]
        read = ask_until_readable(inquiries, ask, self.wording.reminder, self.max_attempts)
        replies = iter(read)
        return [self._verdict(list(islice(replies, len(group)))) for group in versions]

    def _inquiry(self, request_id: str, draft: Draft) -> Inquiry[ClarityReply]:
        return Inquiry(
            self.wording.request(request_id, {"{question}": question_text(draft)}, draft.kind, _SCHEMA), _read
        )

    def _verdict(self, replies: Sequence[ClarityReply | UnreadableReply]) -> GateVerdict:
        """Return the first verdict that is not PASSED: with the history, then without."""
        verdicts = [verdict_on(reply, self.tags, partial(_findings, n > 0)) for n, reply in enumerate(replies)]
        return next((verdict for verdict in verdicts if verdict.state is not VerdictState.PASSED), verdicts[0])


def _findings(is_without_history: bool, understood: ClarityReply) -> Iterable[Finding]:
    if is_without_history and understood.is_clear:
        yield Finding("history_not_needed", understood.detail)
    if not is_without_history and not understood.is_clear:
        yield Finding("not_self_contained", understood.detail)


def _read(reply: str) -> ClarityReply | None:
    fields = read_object(reply, "self_contained") or {}
    is_clear = parse_flag(fields.get("self_contained"))
    detail = str(fields.get("about" if is_clear else "missing") or "").strip()
    return None if is_clear is None else ClarityReply(is_clear, detail)
