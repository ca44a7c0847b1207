"""A metric whose value is a judge's grade."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.prompt_parts import chat_messages, number_lines, question_in_context
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.judges.graded_replies import (
    APPLICABILITY_SCHEMA,
    Applicability,
    GradeVerdict,
    read_applicability,
    read_verdict,
    verdict_schema,
)
from components.judges.prepared import Prepared, preparation_entry, prepared_sample
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Request, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.templates import fill

_PLACEHOLDERS = ("{answer}", "{passages}", "{passage}")


@dataclass(frozen=True)
class GradeOutcome:
    """The outcome of judging one sample: a value, or the state that explains its absence, and a remark."""

    value: float | ScoreState
    remark: str


@dataclass(frozen=True)
class Graded:
    """A judge reads `instruction` and replies with one of `grades`; the value is the grade / max(grades).

    Level: sample. Range: [0, 1] for grades from 0, no unit. Direction: `larger_is_better`, as the instruction defines
    the grades; of OmniEval's metrics, all but hallucination are better when larger. Source: Wang et al. 2024,
    "OmniEval", section 3.3.

    `instruction` may have placeholders for {question}, {references}, {answer}, {passages} and {passage}. They decide
    what a sample must have:

    - {references}, {passages}: a sample that has none is NOT_APPLICABLE (closed-book cells have no passages);
    - {answer}: an empty answer gets the grade `empty_answer` without a request, or is NOT_APPLICABLE if that is None.
      Without this placeholder, answers are not read;
    - {passage}: one request per passage. The value is the mean over the passages.

    `applicability`, if not empty, is asked once per question, with {question} and {references} only. Samples to which
    the metric does not apply are NOT_APPLICABLE. Samples without a usable reply are FAILED or UNPARSABLE.
    `not_applicable_grade` is the grade by which a judge excludes a single answer.

    If a reply is not a valid grade, the request is repeated with `reminder`, up to `max_attempts` attempts in total.
    After that, it is UNPARSABLE. `prompt_version` names the wording for readers of the results. The prompt texts are
    part of the identity in any case.
    """

    name: str
    larger_is_better: bool
    llm: LLM
    system: str
    instruction: str
    applicability: str
    reminder: str
    grades: tuple[int, ...]
    not_applicable_grade: int | None
    empty_answer: int | None
    max_attempts: int
    prompt_version: int

    version: ClassVar[int] = 4

    def check(self) -> list[str]:
        """Return error messages for grades that are not a scale, and for templates with placeholders that will not be
        filled.
        """
        problems = [] if self.name.strip() else ["name: is empty, expected the metric's name"]
        if len(set(self.grades)) < 2 or max(self.grades) < 1:
            problems.append(f"grades: got {list(self.grades)}, expected at least two, the highest at least 1")
        if negative := [grade for grade in self.grades if grade < 0 and grade != self.not_applicable_grade]:
            problems.append(f"grades: got {negative[0]}, expected at least 0, except for not_applicable_grade")
        for field in ("not_applicable_grade", "empty_answer"):
            grade = getattr(self, field)
            if grade is not None and grade not in self.grades:
                problems.append(f"{field}: got {grade}, expected null or one of grades={list(self.grades)}")
        if not any(name in self.instruction for name in _PLACEHOLDERS):
            problems.append(
                "instruction: has no placeholder for what to judge, expected at least one of "
                f"{', '.join(_PLACEHOLDERS)}"
            )
        if extra := [name for name in _PLACEHOLDERS if name in self.applicability]:
            problems.append(f"applicability: got {', '.join(extra)}, expected only {{question}} and {{references}}")
        if self.max_attempts < 1:
            problems.append(f"max_attempts: got {self.max_attempts}, expected at least 1")
        return problems

    @property
    def names(self) -> tuple[str, ...]:
        """The metric's name, its only one."""
        return (self.name,)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompts suit; () for any."""
        return languages_of_prompts(self.system, self.instruction)

    @property
    def reads_answers(self) -> bool:
        """True if the instruction contains {answer}."""
        return "{answer}" in self.instruction

    @property
    def n_rounds_to_prepare(self) -> int:
        """1 if `applicability` is asked first, else 0."""
        return 1 if self.applicability else 0

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1, or one per passage; 0 if the instruction needs passages and there are none."""
        if "{passage}" in self.instruction:
            return n_passages
        return 0 if "{passages}" in self.instruction and not n_passages else 1

    def missing_input(self, item: JudgeInput) -> str:
        """Return "reference" or "passages" if the instruction needs them and the item lacks them; "" otherwise."""
        if _lacks_references(self.instruction, item.sample):
            return "reference"
        return "passages" if "{passage" in self.instruction and not item.passages else ""

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return for each sample id whether the metric applies; {} if it always does."""
        if not self.applicability:
            return {}
        with_references = [sample for sample in samples if not _lacks_references(self.applicability, sample)]
        inquiries = [Inquiry(self._applicability_request(sample), read_applicability) for sample in with_references]
        replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        return {
            **{sample.id: preparation_entry(ScoreState.NOT_APPLICABLE, "no reference") for sample in samples},
            **{sample.id: _applicability(reply) for sample, reply in zip(with_references, replies, strict=True)},
        }

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the value of each sample.

        The remarks are the grades with the judge's reasons, or the reason for a missing value.
        """
        settled = [self._settle(item, preparation) for item in judged]
        inquiries = [[] if outcome else self._inquiries(item) for item, outcome in zip(judged, settled, strict=True)]
        # All samples go in one call, because the model behind `ask` answers many requests in parallel.
        flat = list(chain.from_iterable(inquiries))
        read = ask_until_readable(flat, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        outcomes = [
            outcome or self._outcome(list(islice(replies, len(sample_inquiries))))
            for outcome, sample_inquiries in zip(settled, inquiries, strict=True)
        ]
        scores = mean_scores([outcome.value for outcome in outcomes])
        return Judgements({self.name: scores}, [outcome.remark for outcome in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _settle(self, item: JudgeInput, preparation: JudgePreparation) -> GradeOutcome | None:
        """Return the outcome if no request is needed."""
        if self.applicability:
            entry = prepared_sample(preparation, item.sample)
            if entry["state"] != ScoreState.VALUE:
                return GradeOutcome(ScoreState(entry["state"]), entry["reason"])
        if missing := self.missing_input(item):
            return GradeOutcome(ScoreState.NOT_APPLICABLE, f"no {missing}")
        if self.reads_answers and not item.answer.strip():
            if self.empty_answer is None:
                return GradeOutcome(ScoreState.NOT_APPLICABLE, "empty answer")
            return self._outcome([GradeVerdict(self.empty_answer, "empty answer, not asked")])
        return None

    def _inquiries(self, item: JudgeInput) -> list[Inquiry[GradeVerdict]]:
        """Return one inquiry, or one per passage."""
        if "{passage}" not in self.instruction:
            return [self._inquiry(item, item.sample.id, "")]
        return [
            self._inquiry(item, f"{item.sample.id}#{n}", passage.text)
            for n, passage in enumerate(item.passages, start=1)
        ]

    def _inquiry(self, item: JudgeInput, request_id: str, passage: str) -> Inquiry[GradeVerdict]:
        values = {
            **_shown_values(item.sample),
            "{answer}": item.answer,
            "{passages}": number_lines([passage.text for passage in item.passages]),
            "{passage}": passage,
        }
        messages = chat_messages(self.system, fill(self.instruction, values))
        request = Request(request_id, messages, item.sample, item.passages, verdict_schema(self.grades))
        return Inquiry(request, lambda text: read_verdict(text, self.grades))

    def _applicability_request(self, sample: Sample) -> Request:
        messages = chat_messages(self.system, fill(self.applicability, _shown_values(sample)))
        return Request(sample.id, messages, sample, (), APPLICABILITY_SCHEMA)

    def _outcome(self, replies: Sequence[GradeVerdict | UnreadableReply]) -> GradeOutcome:
        """Return a sample's value if all its replies are readable.

        A mean over some of the passages would be a different metric.
        """
        verdicts = [reply for reply in replies if isinstance(reply, GradeVerdict)]
        unread = [reply for reply in replies if isinstance(reply, UnreadableReply)]
        if unread:
            # FAILED precedes UNPARSABLE: a failed request is worth repeating, and the stage is then not final.
            worst = min(unread, key=lambda reply: reply.state is not ScoreState.FAILED)
            return GradeOutcome(worst.state, worst.reason)
        grades = [verdict.grade for verdict in verdicts if verdict.grade != self.not_applicable_grade]
        remark = "\n".join(f"{verdict.grade}: {verdict.reason}" for verdict in verdicts)
        if not grades:
            return GradeOutcome(ScoreState.NOT_APPLICABLE, remark)
        return GradeOutcome(sum(grades) / len(grades) / max(self.grades), remark)


def _lacks_references(template: str, sample: Sample) -> bool:
    return "{references}" in template and not any(reference.strip() for reference in sample.references)


def _shown_values(sample: Sample) -> dict[str, str]:
    return {"{question}": question_in_context(sample), "{references}": number_lines(sample.references)}


def _applicability(reply: Applicability | UnreadableReply) -> Prepared:
    if isinstance(reply, UnreadableReply):
        return preparation_entry(reply.state, reply.reason)
    return preparation_entry(ScoreState.VALUE if reply.applicable else ScoreState.NOT_APPLICABLE, reply.reason)
