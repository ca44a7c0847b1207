"""Gate that checks if a reader can answer the question without any text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import LLM, Ask
from components.testset.gates.findings import Finding
from components.testset.gates.form import ASKED
from components.testset.gates.gate_prompts import verdict_on
from components.testset.gates.reading import Reading, ReadingAttempt
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict
from components.testset.wording import Wording
from components.text.normalize import ANSWER_FORM_VERSION


@dataclass(frozen=True)
class ClosedBook:
    """A reader without a text must not give the reference (`closed_book`).

    Answers that models know, or can guess from the question, do not test retrieval. Applies to questions: a text to
    continue, summarize or correct contains what the reader needs.

    `reading` has a placeholder for {question}, `comparing` for {question}, {references} and {answer}.
    """

    llm: LLM
    reading: Wording
    comparing: Wording
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 3 + ANSWER_FORM_VERSION
    n_requests: ClassVar[int] = 2

    def check(self) -> list[str]:
        return self._reading.problems("{question}")

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in ASKED

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        attempts = self._reading.attempts([(draft, "") for draft in drafts], ask)
        return [verdict_on(attempt, self.tags, _findings) for attempt in attempts]

    @property
    def _reading(self) -> Reading:
        return Reading(self.reading, self.comparing, self.max_attempts)


def _findings(attempt: ReadingAttempt) -> Iterable[Finding]:
    if attempt.matches:
        yield Finding("closed_book", attempt.answer)
