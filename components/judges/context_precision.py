"""Context precision: whether useful passages come before useless ones in the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.prompt_parts import chat_messages, number_lines, question_in_context
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.judges.claim_checks import worst_unread
from components.judges.graded_replies import GradeVerdict, read_verdict, verdict_schema
from components.limits import too_small
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Request, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.templates import fill, missing_placeholders

_USEFULNESS = (0, 1)
_Outcome = tuple[float | ScoreState, str]


@dataclass(frozen=True)
class ContextPrecision:
    """Average precision of the passages in the order of the prompt; a judge decides which of them are useful.

    The value is the mean, over the useful passages, of the share of useful passages down to each, or 0 if none is
    useful.
    Level: sample. Range: [0, 1], no unit, larger is better. One request per passage. `prompt` has placeholders for
    {question}, {passage}, and {references} or {answer}. With {references}, a passage is useful for reaching the
    references, and cells with equal contexts share the judgement. With {answer}, it is useful for reaching the answer.
    A sample without these or without passages is NOT_APPLICABLE. Without a usable reply for every passage, it is FAILED
    or UNPARSABLE. Source: ragas 0.4, `LLMContextPrecisionWithReference` and `LLMContextPrecisionWithoutReference`.
    """

    name: str
    llm: LLM
    system: str
    prompt: str
    reminder: str
    max_attempts: int

    version: ClassVar[int] = 2
    larger_is_better: ClassVar[bool | None] = True
    n_rounds_to_prepare: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return error messages for an empty name, missing placeholders in the prompt, and a number below 1."""
        problems = [] if self.name.strip() else ["name: is empty, expected the metric's name"]
        problems += missing_placeholders("prompt", self.prompt, ("{question}", "{passage}"))
        if ("{references}" in self.prompt) == ("{answer}" in self.prompt):
            problems.append("prompt: expected either {references} or {answer}")
        return problems + too_small(self, max_attempts=1)

    @property
    def names(self) -> tuple[str, ...]:
        """The metric's name, its only one."""
        return (self.name,)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompt suits; () for any."""
        return languages_of_prompts(self.system, self.prompt)

    @property
    def reads_answers(self) -> bool:
        """True if the prompt contains {answer}."""
        return "{answer}" in self.prompt

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return one request per passage."""
        return n_passages

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the average precision of each sample. The remarks are the decisions with the judge's reasons."""
        missing = [self._missing_input(item) for item in judged]
        inquiries = [[] if lacks else self._inquiries(item) for item, lacks in zip(judged, missing, strict=True)]
        flat = list(chain.from_iterable(inquiries))
        read = ask_until_readable(flat, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        outcomes = [
            (ScoreState.NOT_APPLICABLE, lacks) if lacks else _outcome(list(islice(replies, len(sample_inquiries))))
            for lacks, sample_inquiries in zip(missing, inquiries, strict=True)
        ]
        scores = mean_scores([value for value, _ in outcomes])
        return Judgements({self.name: scores}, [remark for _, remark in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _missing_input(self, item: JudgeInput) -> str:
        """Return the reason for which a sample is NOT_APPLICABLE, "" if it is judged."""
        if not item.passages:
            return "no passages"
        if self.reads_answers:
            return "" if item.answer.strip() else "empty answer"
        return "" if any(reference.strip() for reference in item.sample.references) else "no reference"

    def _inquiries(self, item: JudgeInput) -> list[Inquiry[GradeVerdict]]:
        values = {
            "{question}": question_in_context(item.sample),
            "{references}": number_lines(item.sample.references),
            "{answer}": item.answer,
        }
        return [
            self._inquiry(item, n, fill(self.prompt, {**values, "{passage}": passage.text}))
            for n, passage in enumerate(item.passages, start=1)
        ]

    def _inquiry(self, item: JudgeInput, number: int, text: str) -> Inquiry[GradeVerdict]:
        messages = chat_messages(self.system, text)
        request = Request(f"{item.sample.id}#{number}", messages, item.sample, (), verdict_schema(_USEFULNESS))
        return Inquiry(request, lambda reply: read_verdict(reply, _USEFULNESS))


def average_precision(useful: Sequence[bool]) -> float:
    """Return the mean of the precision at the rank of each useful passage, or 0 if none is useful."""
    precisions = [sum(useful[:rank]) / rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
    return sum(precisions) / len(precisions) if precisions else 0.0


def _outcome(replies: Sequence[GradeVerdict | UnreadableReply]) -> _Outcome:
    """Return the outcome of a sample whose passages were all judged. A value over some of them would be another
    metric.
    """
    if unread := [reply for reply in replies if isinstance(reply, UnreadableReply)]:
        worst = worst_unread(unread)
        return worst.state, worst.reason
    verdicts = [reply for reply in replies if isinstance(reply, GradeVerdict)]
    remark = "\n".join(f"{verdict.grade}: {verdict.reason}" for verdict in verdicts)
    return average_precision([verdict.grade == 1 for verdict in verdicts]), remark
