"""Gate at which another model inspects the draft, and may correct it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from components.asking.model_reply import parse_whole_number, read_object
from components.asking.prompt_parts import number_lines
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.testset.gates.findings import Finding, shorten_detail
from components.testset.gates.form import ASKED
from components.testset.gates.gate_prompts import question_text, verdict_on
from components.testset.protocols import SourceCorpus
from components.testset.records import PASSED, Draft, GateVerdict, Quote, VerdictState
from components.testset.shown_documents import shown_documents
from components.testset.tasks.writer_replies import Reply, parse_quotes, text_in
from components.testset.wording import TEXT, Wording, object_schema

NEEDS_SECOND_CORRECTION = "needs_second_correction"

_DROP, _CORRECT, _KEEP = 0, 1, 2
_CITED = object_schema(sentences={"type": "array", "items": {"type": "integer"}}, quote=TEXT)
_SCHEMA = object_schema(
    reason=TEXT,
    grade={"type": "integer", "enum": [_DROP, _CORRECT, _KEEP]},
    question=TEXT,
    answer=TEXT,
    evidence={"type": "array", "items": _CITED},
    expression=TEXT,
)


@dataclass(frozen=True)
class Grade:
    """A grade (0 drops the draft, 1 corrects it, 2 keeps it) and the corrected draft."""

    grade: int
    reason: str
    corrected: Draft | None = None


@dataclass(frozen=True)
class Inspection:
    """An inspector sees the draft with all of its evidence, and drops it (`dropped_by_inspector`), corrects it or keeps
    it.

    The inspector should be a different model from the writer. A corrected draft has no gold, and goes through all gates
    again. If it needs a second correction, it is rejected (`needs_second_correction`). Applies to questions. Source of
    the three grades: Wang et al. 2024, "OmniEval", section 3.2.

    `wording` has placeholders for {question}, {references}, {quotes}, {expression} and {documents}.
    """

    llm: LLM
    wording: Wording
    max_attempts: int

    version: ClassVar[int] = 3
    n_requests: ClassVar[int] = 1
    tags: ClassVar[bool] = False

    def check(self) -> list[str]:
        placeholders = ("{question}", "{references}", "{quotes}", "{expression}", "{documents}")
        return too_small(self, max_attempts=1) + self.wording.problems("wording", placeholders)

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in ASKED

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        inquiries = [self._inquiry(draft) for draft in drafts]
        replies = ask_until_readable(inquiries, ask, self.wording.reminder, self.max_attempts)
        return [_verdict(draft, reply) for draft, reply in zip(drafts, replies, strict=True)]

    def _inquiry(self, draft: Draft) -> Inquiry[Grade]:
        values = {
            "{question}": question_text(draft),
            "{references}": number_lines(draft.references),
            "{quotes}": number_lines([_quote_text(quote) for quote in draft.quotes]) or "-",
            "{expression}": draft.expression or "-",
            "{documents}": shown_documents(draft.evidence.extracts),
        }
        return Inquiry(self.wording.request(draft.id, values, draft.kind, _SCHEMA), partial(_read, draft))


def _quote_text(quote: Quote) -> str:
    numbers = " ".join(f"[{number}]" for number in quote.sentences)
    return " ".join(filter(None, [numbers, quote.text]))


def _read(draft: Draft, text: str) -> Grade | None:
    """Return the grade; None also for a correction that changes nothing, or that lacks question or answer."""
    reply = read_object(text, "grade") or {}
    grade, reason = parse_whole_number(reply.get("grade")), text_in(reply, "reason")
    if grade == _CORRECT:
        corrected = _correct(draft, reply, reason)
        return None if corrected is None else Grade(_CORRECT, reason, corrected)
    return Grade(grade, reason) if grade in (_DROP, _KEEP) else None


def _correct(draft: Draft, reply: Reply, reason: str) -> Draft | None:
    question, answer = text_in(reply, "question"), text_in(reply, "answer")
    quotes = parse_quotes(reply) or draft.quotes
    is_new = (question, (answer,), quotes) != (draft.question, draft.references, draft.quotes)
    if not (question and answer and is_new):
        return None
    return replace(
        draft,
        id=f"{draft.id}-corrected",
        question=question,
        references=(answer,),
        quotes=quotes,
        gold=(),
        expression=text_in(reply, "expression"),
        notes={
            **draft.notes,
            "question_before": draft.question,
            "answer_before": "\n".join(draft.references),
            "correction": reason,
        },
        was_corrected=True,
    )


def _verdict(draft: Draft, reply: Grade | UnreadableReply) -> GateVerdict:
    if isinstance(reply, UnreadableReply) or reply.grade == _DROP:
        return verdict_on(reply, False, lambda found: [Finding("dropped_by_inspector", found.reason)])
    if reply.corrected is None:
        return PASSED
    if draft.was_corrected:
        return GateVerdict(VerdictState.REJECTED, NEEDS_SECOND_CORRECTION, shorten_detail(reply.reason))
    return GateVerdict(VerdictState.CORRECTED, "corrected", shorten_detail(reply.reason), reply.corrected)
