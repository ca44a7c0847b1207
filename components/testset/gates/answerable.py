"""Gate that checks if a reader can answer the question from its gold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import LLM, Ask
from components.testset.gates.findings import Finding, decide_verdict
from components.testset.gates.form import ASKED
from components.testset.gates.gate_prompts import gold_by_document, shown_gold, verdict_on
from components.testset.gates.reading import Reading, ReadingAttempt
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict
from components.testset.wording import Wording
from components.text.normalize import ANSWER_FORM_VERSION

_NO_GOLD = Finding("no_gold", "no evidence was cited or located")


@dataclass(frozen=True)
class Answerable:
    """A reader that sees only the gold, with the titles of its documents, must give the reference.

    Findings: `not_answerable` if it finds no answer, `other_answer` if it gives another one, `no_gold` if the draft has
    no gold. Applies to questions.

    `reading` has placeholders for {question} and {documents}, `comparing` for {question}, {references} and {answer}.
    """

    llm: LLM
    reading: Wording
    comparing: Wording
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 3 + ANSWER_FORM_VERSION
    n_requests: ClassVar[int] = 2

    def check(self) -> list[str]:
        return self._reading.problems("{question}", "{documents}")

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in ASKED

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        golds = [gold_by_document(draft, corpus) for draft in drafts]
        tasks = [(draft, shown_gold(gold, corpus)) for draft, gold in zip(drafts, golds, strict=True) if gold]
        attempts = iter(self._reading.attempts(tasks, ask))
        return [
            verdict_on(next(attempts), self.tags, _findings) if gold else decide_verdict([_NO_GOLD], self.tags)
            for gold in golds
        ]

    @property
    def _reading(self) -> Reading:
        return Reading(self.reading, self.comparing, self.max_attempts)


def _findings(attempt: ReadingAttempt) -> Iterable[Finding]:
    if not attempt.matches:
        reason = "other_answer" if attempt.answer else "not_answerable"
        yield Finding(reason, ": ".join(filter(None, [attempt.answer, attempt.reason])))
