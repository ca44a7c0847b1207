"""UMBRELA: a judge grades the relevance of each passage from 0 to 3, in place of people's relevance judgements."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import log2
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.prompt_parts import chat_messages, question_in_context
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.judges.claim_checks import worst_unread
from components.judges.graded_replies import GradeVerdict, read_verdict, verdict_schema
from components.limits import too_small
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Request, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.templates import fill, missing_placeholders

GRADES = (0, 1, 2, 3)
_NAMES = ("umbrela_ndcg", "umbrela_precision", "umbrela_relevance")


@dataclass(frozen=True)
class RelevanceGrades:
    """Metrics of the passages in a prompt, by a judge's grades of their relevance from 0 to 3.

    - `umbrela_ndcg`: sum of grade / log2(1 + rank), divided by that sum if all passages had grade 3. One cell does not
      know the ideal ranking of a pool; with exported judgements, `ndcg@k` does;
    - `umbrela_precision`: share of the passages with at least the grade `relevant_from`;
    - `umbrela_relevance`: mean grade / 3.

    Level: sample. Range: [0, 1], no unit, larger is better. One request per passage. `prompt` has placeholders for
    {question} and {passage}. Neither answers nor references are read, so cells with equal contexts share the judgement.
    Without passages: NOT_APPLICABLE. Without a usable reply for every passage: FAILED or UNPARSABLE. The remark has a
    line per passage, which begins with its grade. Source: Upadhyay et al. 2024, "UMBRELA", section 3.
    """

    llm: LLM
    system: str
    prompt: str
    reminder: str
    relevant_from: int
    max_attempts: int

    version: ClassVar[int] = 2
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = _NAMES
    reads_answers: ClassVar[bool] = False
    n_rounds_to_prepare: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return error messages for missing placeholders, a grade that does not exist, and a number below 1."""
        problems = missing_placeholders("prompt", self.prompt, ("{question}", "{passage}"))
        if self.relevant_from not in GRADES[1:]:
            problems.append(f"relevant_from: got {self.relevant_from}, expected 1, 2 or 3")
        return problems + too_small(self, max_attempts=1)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompt suits; () for any."""
        return languages_of_prompts(self.system, self.prompt)

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return one request per passage."""
        return n_passages

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the three values of each sample. The remarks are the grades with the judge's reasons."""
        inquiries = [self._inquiries(item) for item in judged]
        flat = list(chain.from_iterable(inquiries))
        read = ask_until_readable(flat, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        outcomes = [self._outcome(list(islice(replies, len(sample_inquiries)))) for sample_inquiries in inquiries]
        scores = {name: mean_scores([values[n] for values, _ in outcomes]) for n, name in enumerate(_NAMES)}
        return Judgements(scores, [remark for _, remark in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _inquiries(self, item: JudgeInput) -> list[Inquiry[GradeVerdict]]:
        question = question_in_context(item.sample)
        requests = [
            Request(
                f"{item.sample.id}#{number}",
                chat_messages(self.system, fill(self.prompt, {"{question}": question, "{passage}": passage.text})),
                item.sample,
                (),
                verdict_schema(GRADES),
            )
            for number, passage in enumerate(item.passages, start=1)
        ]
        return [Inquiry(request, lambda reply: read_verdict(reply, GRADES)) for request in requests]

    def _outcome(self, replies: Sequence[GradeVerdict | UnreadableReply]) -> tuple[tuple[float | ScoreState, ...], str]:
        unread = [reply for reply in replies if isinstance(reply, UnreadableReply)]
        if unread:
            worst = worst_unread(unread)
            return (worst.state,) * len(_NAMES), worst.reason
        verdicts = [reply for reply in replies if isinstance(reply, GradeVerdict)]
        if not verdicts:
            return (ScoreState.NOT_APPLICABLE,) * len(_NAMES), "no passages"
        grades = [verdict.grade for verdict in verdicts]
        share = sum(grade >= self.relevant_from for grade in grades) / len(grades)
        remark = "\n".join(f"{verdict.grade}: {' '.join(verdict.reason.split())}" for verdict in verdicts)
        return (normalized_gain(grades), share, sum(grades) / len(grades) / max(GRADES)), remark


def normalized_gain(grades: Sequence[int]) -> float:
    """Return the discounted gain of grades in the order of ranks, divided by the gain of the highest grade at all
    ranks.
    """
    discounts = [1 / log2(1 + rank) for rank in range(1, len(grades) + 1)]
    gain = sum(grade * discount for grade, discount in zip(grades, discounts, strict=True))
    return gain / (max(GRADES) * sum(discounts))
