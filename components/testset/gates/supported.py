"""Gate that checks a summary against the documents that stay in the corpus."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import read_object
from components.asking.prompt_parts import number_lines
from components.asking.readable_requests import Inquiry, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind
from components.testset.gates.findings import Finding
from components.testset.gates.gate_prompts import gold_by_document, shown_gold, verdict_on
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict
from components.testset.wording import TEXT, Wording, object_schema

_SCHEMA = object_schema(reason=TEXT, unsupported=TEXT)


@dataclass(frozen=True)
class Supported:
    """The gold must support everything in a summary, else `not_supported`, with the unsupported part.

    The gold is in documents other than the summarized one, which leaves the corpus. Applies to summaries. Answers to
    questions are compared with a reader's. `wording` has placeholders for {question}, {references} and {documents}.
    """

    llm: LLM
    wording: Wording
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 2
    n_requests: ClassVar[int] = 1

    def check(self) -> list[str]:
        problems = too_small(self, max_attempts=1)
        return problems + self.wording.problems("wording", ("{question}", "{references}", "{documents}"))

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind is Kind.SUMMARIZATION

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        inquiries = [self._inquiry(draft, corpus) for draft in drafts]
        replies = ask_until_readable(inquiries, ask, self.wording.reminder, self.max_attempts)
        return [verdict_on(reply, self.tags, _findings) for reply in replies]

    def _inquiry(self, draft: Draft, corpus: SourceCorpus) -> Inquiry[str]:
        values = {
            "{question}": draft.question,
            "{references}": number_lines(draft.references),
            "{documents}": shown_gold(gold_by_document(draft, corpus), corpus),
        }
        return Inquiry(self.wording.request(draft.id, values, draft.kind, _SCHEMA), _read)


def _read(reply: str) -> str | None:
    fields = read_object(reply, "unsupported")
    return None if fields is None else str(fields["unsupported"] or "").strip()


def _findings(unsupported: str) -> Iterable[Finding]:
    if unsupported:
        yield Finding("not_supported", unsupported)
