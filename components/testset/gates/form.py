"""Gate on the form of question and reference: their presence, length, wording and language."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.limits import expected_one_of, too_small
from components.protocols import Ask
from components.records import Kind
from components.testset.gates.findings import Finding, decide_verdict
from components.testset.gates.wordings import is_asking, pointing_words
from components.testset.personal_data import personal_data
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict
from components.text.languages import UNKNOWN, detect_language
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.refusals import is_refusal
from components.text.sentences import sentence_ends

ASKED = (Kind.QA, Kind.LONG_FORM, Kind.CONVERSATION)
"""Kinds whose question is a real question. Samples of other kinds show a text to continue, summarize or correct."""

REASONS = (
    "question_empty", "reference_empty", "unprintable", "question_too_short", "question_too_long", "reference_too_long",
    "not_a_question", "question_in_other_language", "reference_in_other_language", "non_answer", "points_at_document",
    "personal_email", "personal_phone", "personal_identity_number", "personal_card_number",
)  # fmt: skip

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffd\ud800-\udfff]")
_ATTRIBUTE = re.compile(r"(?:没有|并未|未|没)[^\W\d]{0,4}?(?:提及|提到|提供|说明|给出|涉及|包含|找到|记载|披露)的")
"""Attributes of the subject, as in "those who have not disclosed", which do not describe the answer itself."""
_WRITTEN_IN_TEN = ("zh", "ja", "ko")
"""Languages that ten letters identify."""
_MIN_LETTERS, _MIN_LETTERS_ELSEWHERE = 10, 40


@dataclass(frozen=True)
class Form:
    """Rejects drafts with flaws of form, each under a separate reason (see REASONS):

    - empty texts and control characters;
    - for kinds that ask a question: questions that are too short or too long in characters, or ask nothing, and
      references that are too long;
    - questions and references in a different language from the corpus;
    - references that say that there is no answer;
    - questions and references that point at a text that readers do not see;
    - personal data.

    Reasons in `only_tagged` are remarks.
    """

    shortest_question: int
    longest_question: int
    longest_reference: int
    only_tagged: tuple[str, ...] = ()

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0

    @property
    def tags(self) -> bool:
        return set(self.only_tagged) >= set(REASONS)

    def check(self) -> list[str]:
        unknown = [
            f"only_tagged: got {name!r}{expected_one_of(name, REASONS)}"
            for name in self.only_tagged
            if name not in REASONS
        ]
        return too_small(self, shortest_question=1, longest_question=1, longest_reference=1) + unknown

    def applies_to(self, draft: Draft) -> bool:
        """Return True for all drafts."""
        return True

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        language = detect_language(corpus.texts.values()) if drafts else UNKNOWN
        return [decide_verdict(self._findings(draft, language), self.tags, self.only_tagged) for draft in drafts]

    def _findings(self, draft: Draft, language: str) -> Iterator[Finding]:
        question, references = draft.question.strip(), [reference.strip() for reference in draft.references]
        if not question:
            yield Finding("question_empty", "no question")
        for text in (question, *references):
            if match := _UNPRINTABLE.search(text):
                yield Finding("unprintable", f"character {ord(match[0]):#06x} after {text[: match.start()][-20:]!a}")
        if draft.kind in ASKED and question:
            yield from self._question_flaws(question, references)
        yield from _other_languages(question, references, language)
        yield from _personal_data((question, *references), draft.kind)
        if not references or not all(references):
            yield Finding("reference_empty", f"{sum(map(bool, references))} of {len(references)} references have text")

    def _question_flaws(self, question: str, references: Sequence[str]) -> Iterator[Finding]:
        if len(question) < self.shortest_question:
            yield Finding("question_too_short", question)
        if len(question) > self.longest_question:
            yield Finding("question_too_long", f"{len(question)} characters: {question}")
        for reference in references:
            if len(reference) > self.longest_reference:
                yield Finding("reference_too_long", f"{len(reference)} characters: {reference}")
        if not is_asking(question):
            yield Finding("not_a_question", question)
        for text in (question, *references):
            if words := pointing_words(text):
                yield Finding("points_at_document", f"{words!r} in: {text}")
        for reference in references:
            if refusal := next(filter(_is_refusal, (reference, *_sentences(reference))), ""):
                yield Finding("non_answer", refusal)


def _other_languages(question: str, references: Sequence[str], language: str) -> Iterator[Finding]:
    texts: Mapping[str, Sequence[str]] = {
        "question_in_other_language": (question,),
        "reference_in_other_language": references,
    }
    for reason, group in texts.items():
        for text in group:
            other = _detect_language(text)
            if UNKNOWN not in (language, other) and other != language:
                yield Finding(reason, f"{other}, the corpus is {language}: {text}")


def _detect_language(text: str) -> str:
    """Return the language of a text; UNKNOWN if it is too short to tell, such as a name."""
    language, n_letters = detect_language([text]), sum(map(str.isalpha, text))
    fewest = _MIN_LETTERS if language in _WRITTEN_IN_TEN else _MIN_LETTERS_ELSEWHERE
    return language if n_letters >= fewest else UNKNOWN


def _personal_data(texts: Sequence[str], kind: Kind) -> Iterator[Finding]:
    """Yield findings of personal data. Addresses and telephone numbers in a text to continue or summarize are
    public.
    """
    public = () if kind in ASKED else ("email", "phone")
    for text in texts:
        for name, fragment in personal_data(text).items():
            if name not in public:
                yield Finding(f"personal_{name}", f"{fragment[:3]}… in a text of {len(text)} characters")


def _is_refusal(text: str) -> bool:
    return is_refusal(_ATTRIBUTE.sub("", text))


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a reference. One may answer half of the question, and another say that the rest has no
    answer.
    """
    start = 0
    for end in sentence_ends(text).tolist():
        yield text[start:end]
        start = end
