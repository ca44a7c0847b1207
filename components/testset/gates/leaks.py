"""Gate for questions that reveal their answer, or where it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.limits import too_small
from components.protocols import Ask
from components.testset.gates.findings import Finding, decide_verdict
from components.testset.gates.form import ASKED
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict
from components.testset.tokens import n_characters, tokens
from components.text.containing import contains, form_to_search
from components.text.normalize import ANSWER_FORM_VERSION

_CHOICE = re.compile(r"还是|或|更|最|谁|比较|相比|对比|\bor\b|\bwhich\b|\bwhether\b|\bcompar|\bthan\b|\bbetween\b")
"""A question that names its options also names its answer."""


@dataclass(frozen=True)
class Leaks:
    """Rejects questions (not texts to continue, summarize or correct) that reveal something:

    - `reference_in_question`: the question contains the whole words of a reference of at least `shortest_reference`,
      and offers no choice. Earlier turns of a conversation count as part of the question;
    - `gold_wording_in_question`: the question shares a run of `longest_run` or more with the gold, so that a word
      search finds the gold without understanding;
    - `title_in_question`: the question contains the whole title of a gold document, of at least `shortest_title`.

    Lengths are in Chinese or Japanese characters; a word or number of another script counts as two. Width, case and
    punctuation are ignored.
    """

    shortest_reference: int
    longest_run: int
    shortest_title: int
    tags: bool

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0

    def check(self) -> list[str]:
        return too_small(self, shortest_reference=1, longest_run=1, shortest_title=1)

    def applies_to(self, draft: Draft) -> bool:
        """Return True for drafts that ask a question."""
        return draft.kind in ASKED

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        return [decide_verdict(self._findings(draft, corpus.texts, corpus.titles), self.tags) for draft in drafts]

    def _findings(self, draft: Draft, texts: Mapping[str, str], titles: Mapping[str, str]) -> Iterator[Finding]:
        questions = "\n".join([*(turn.question for turn in draft.history), draft.question])
        form = form_to_search(questions)
        for reference in draft.references:
            is_long = n_characters(tokens(reference)) >= self.shortest_reference
            if is_long and not _CHOICE.search(questions.lower()) and contains(form, form_to_search(reference)):
                yield Finding("reference_in_question", reference)
        question = tokens(draft.question)
        units = [unit for unit in draft.gold if unit.document_id in texts]
        for unit in units:
            run = _longest_run(question, tokens(texts[unit.document_id][unit.start : unit.end]), self.longest_run)
            if run:
                yield Finding("gold_wording_in_question", " ".join(run))
        for title in dict.fromkeys(titles.get(unit.document_id, "") for unit in units):
            title_tokens = tokens(title)
            if n_characters(title_tokens) >= self.shortest_title and _is_within(title_tokens, question):
                yield Finding("title_in_question", title)


def _is_within(some: Sequence[str], others: Sequence[str]) -> bool:
    return f" {' '.join(some)} " in f" {' '.join(others)} "


def _longest_run(some: Sequence[str], others: Sequence[str], fewest: int) -> Sequence[str]:
    """Return the first of the longest runs of tokens that the others contain, if it has at least `fewest` characters;
    else ().
    """
    text, best, start = f" {' '.join(others)} ", some[:0], 0
    for end in range(1, len(some) + 1):
        while start < end and f" {' '.join(some[start:end])} " not in text:
            start += 1
        if n_characters(some[start:end]) > n_characters(best):
            best = some[start:end]
    return best if n_characters(best) >= fewest else ()
