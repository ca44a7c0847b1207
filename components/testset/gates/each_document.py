"""Gate that removes one document at a time and checks if the question can still be answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from components.asking.readable_requests import UnreadableReply
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import ScoreState
from components.testset.gates.findings import Finding, decide_verdict
from components.testset.gates.form import ASKED
from components.testset.gates.gate_prompts import gold_by_document, shown_gold, verdict_on
from components.testset.gates.reading import Reading, ReadingAttempt
from components.testset.protocols import SourceCorpus
from components.testset.records import PASSED, Draft, GateVerdict
from components.testset.wording import Wording
from components.text.normalize import ANSWER_FORM_VERSION


@dataclass(frozen=True)
class EachDocument:
    """A reader that sees the gold of all documents but one must not give the reference, whichever is missing.

    Otherwise the question does not need that document (`document_not_needed`). Applies to questions with gold in more
    than one document. Each document takes one request, and one to compare the answers if no rule decides. A draft over
    more than `most_documents` is `too_many_documents`, without a request.

    `reading` has placeholders for {question} and {documents}, `comparing` for {question}, {references} and {answer}.
    """

    llm: LLM
    reading: Wording
    comparing: Wording
    most_documents: int
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 3 + ANSWER_FORM_VERSION

    def check(self) -> list[str]:
        return too_small(self, most_documents=2) + self._reading.problems("{question}", "{documents}")

    @property
    def n_requests(self) -> int:
        return 2 * self.most_documents

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in ASKED and len({unit.document_id for unit in draft.gold}) > 1

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        golds = [gold_by_document(draft, corpus) for draft in drafts]
        tasks = [task for draft, gold in zip(drafts, golds, strict=True) for task in self._tasks(draft, gold, corpus)]
        attempts = iter(self._reading.attempts(tasks, ask))
        return [self._verdict(gold, attempts) for gold in golds]

    def _tasks(self, draft: Draft, gold: dict[str, str], corpus: SourceCorpus) -> Iterator[tuple[Draft, str]]:
        for dropped in gold if len(gold) <= self.most_documents else ():
            yield draft, shown_gold({an_id: text for an_id, text in gold.items() if an_id != dropped}, corpus)

    def _verdict(self, gold: dict[str, str], attempts: Iterator[ReadingAttempt | UnreadableReply]) -> GateVerdict:
        if len(gold) > self.most_documents:
            seen = f"gold in {len(gold)} documents, expected at most {self.most_documents}"
            return decide_verdict([Finding("too_many_documents", seen)], self.tags)
        draft_attempts = list(islice(attempts, len(gold)))
        for dropped, attempt in zip(gold, draft_attempts, strict=True):
            if isinstance(attempt, ReadingAttempt) and attempt.matches:
                return decide_verdict([Finding("document_not_needed", f"{dropped}: {attempt.answer}")], self.tags)
        unread = [attempt for attempt in draft_attempts if isinstance(attempt, UnreadableReply)]
        # A failed request precedes an unreadable reply: it is worth repeating, and its reply may decide.
        worst = min(unread, key=lambda reply: reply.state is not ScoreState.FAILED, default=None)
        return PASSED if worst is None else verdict_on(worst, self.tags, lambda _: ())

    @property
    def _reading(self) -> Reading:
        return Reading(self.reading, self.comparing, self.max_attempts)
