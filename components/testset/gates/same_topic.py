"""Gate that classifies the question again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from components.asking.prompt_parts import number_lines
from components.asking.readable_requests import Inquiry, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.testset.gates.findings import Finding
from components.testset.gates.form import ASKED
from components.testset.gates.gate_prompts import question_text, verdict_on
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict, Topic
from components.testset.topics.options import TopicChoice, shuffle
from components.testset.wording import Wording


@dataclass(frozen=True)
class SameTopic:
    """A model that sees the question and its answer must choose the topic of their document, else `other_topic`.

    It chooses among all topics, in an order shuffled by `seed` and draft. Applies to questions with a topic. `wording`
    has placeholders for {question}, {references} and {options}.
    """

    llm: LLM
    wording: Wording
    seed: int
    max_attempts: int
    tags: bool

    version: ClassVar[int] = 2
    n_requests: ClassVar[int] = 1

    def check(self) -> list[str]:
        problems = too_small(self, max_attempts=1)
        return problems + self.wording.problems("wording", ("{question}", "{references}", "{options}"))

    def applies_to(self, draft: Draft) -> bool:
        return draft.kind in ASKED and bool(draft.topic)

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        inquiries = [self._inquiry(draft, corpus.topics) for draft in drafts]
        replies = ask_until_readable(inquiries, ask, self.wording.reminder, self.max_attempts)
        names = {topic.slug: " / ".join(topic.path) for topic in corpus.topics}
        return [
            verdict_on(reply, self.tags, partial(_findings, draft, names))
            for draft, reply in zip(drafts, replies, strict=True)
        ]

    def _inquiry(self, draft: Draft, topics: Sequence[Topic]) -> Inquiry[TopicChoice]:
        options = shuffle(topics, str(self.seed), "question", draft.id)
        values = {
            "{question}": question_text(draft),
            "{references}": number_lines(draft.references),
            "{options}": options.shown,
        }
        return Inquiry(self.wording.request(draft.id, values, draft.kind, options.schema), options.read)


def _findings(draft: Draft, names: dict[str, str], choice: TopicChoice) -> list[Finding]:
    if choice.slug == draft.topic:
        return []
    return [Finding("other_topic", f"{names.get(choice.slug, 'none of the topics')}: {choice.reason}")]
