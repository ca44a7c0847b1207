"""Gate that searches the documents nearest to the question for another answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

from components.asking.model_reply import parse_whole_number, read_object
from components.asking.prompt_parts import number_lines
from components.asking.readable_requests import Inquiry, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.gates.findings import Finding
from components.testset.gates.gate_prompts import question_text, shown_texts, verdict_on
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, Extract, GateVerdict, VerdictState
from components.testset.wording import TEXT, Wording, object_schema

_SCHEMA = object_schema(reason=TEXT, other_answer=TEXT, document={"type": "integer"})


class OtherAnswer(NamedTuple):
    """Another answer ("" for none), and the position of its document among the shown ones, from 0."""

    answer: str
    document: int


@dataclass(frozen=True)
class SingleAnswer:
    """No document near the question may give another answer that is as right as the reference (`several_answers`).

    The gate checks the `n_distractors` nearest documents without gold, and stores them in the draft's notes as
    "distractors". Applies to questions with a short answer, because a long answer can always be extended. Without
    distractors, no request is sent. `wording` has placeholders for {question}, {references} and {documents}.
    """

    llm: LLM
    wording: Wording
    n_distractors: int
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 3
    n_requests: ClassVar[int] = 1

    def check(self) -> list[str]:
        problems = too_small(self, n_distractors=1, max_attempts=1)
        return problems + self.wording.problems("wording", ("{question}", "{references}", "{documents}"))

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in (Kind.QA, Kind.CONVERSATION)

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        distractors = self._distractors(drafts, corpus)
        inquiries = [self._inquiry(draft, pieces) for draft, pieces in zip(drafts, distractors, strict=True) if pieces]
        read = ask_until_readable(inquiries, ask, self.wording.reminder, self.max_attempts)
        replies = iter(read)
        verdicts = []
        for draft, pieces in zip(drafts, distractors, strict=True):
            reply = next(replies) if pieces else OtherAnswer("", 0)
            verdict = verdict_on(reply, self.tags, partial(_findings, pieces))
            verdicts.append(_note_distractors(verdict, draft, pieces))
        return verdicts

    def _distractors(self, drafts: Sequence[Draft], corpus: SourceCorpus) -> list[list[Extract]]:
        left_out = [{unit.document_id for unit in draft.gold} | {*draft.removed} for draft in drafts]
        queries = ["\n".join([*(turn.question for turn in draft.history), draft.question]) for draft in drafts]
        pieces: list[list[Extract]] = [[] for _ in drafts]
        # The depth of a search must not depend on the other drafts, which change with `per_cell`.
        for n_left_out in {len(ids) for ids in left_out}:
            rows = [row for row, ids in enumerate(left_out) if len(ids) == n_left_out]
            neighbours = corpus.nearest([queries[row] for row in rows], self.n_distractors + n_left_out)
            for row, nearest in zip(rows, neighbours, strict=True):
                pieces[row] = [one for one in nearest if one.document_id not in left_out[row]][: self.n_distractors]
        return pieces

    def _inquiry(self, draft: Draft, distractors: Sequence[Extract]) -> Inquiry[OtherAnswer]:
        values = {
            "{question}": question_text(draft),
            "{references}": number_lines(draft.references),
            "{documents}": shown_texts([(extract.title, extract.text) for extract in distractors]),
        }

        def read(reply: str) -> OtherAnswer | None:
            fields = read_object(reply, "other_answer")
            answer = str((fields or {}).get("other_answer") or "").strip()
            number = parse_whole_number((fields or {}).get("document")) or 0
            if fields is None or (answer and not 1 <= number <= len(distractors)):
                return None
            return OtherAnswer(answer, number - 1)

        return Inquiry(self.wording.request(draft.id, values, draft.kind, _SCHEMA), read)


def _findings(distractors: Sequence[Extract], other: OtherAnswer) -> Iterable[Finding]:
    if other.answer:
        yield Finding("several_answers", f"{_name_span(distractors[other.document])}: {other.answer}")


def _note_distractors(verdict: GateVerdict, draft: Draft, distractors: Sequence[Extract]) -> GateVerdict:
    if verdict.state is VerdictState.FAILED or not distractors:
        return verdict
    notes = {**draft.notes, "distractors": "; ".join(map(_name_span, distractors))}
    return replace(verdict, draft=replace(draft, notes=notes))


def _name_span(extract: Extract) -> str:
    return f"{extract.document_id} [{extract.start}:{extract.end}]"
