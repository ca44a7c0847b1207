"""The package ragas' context relevance: ratings of the whole context by a judge."""

from collections.abc import Sequence
from dataclasses import dataclass
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

_RATINGS = (0, 1, 2)


@dataclass(frozen=True)
class ContextRating:
    """The mean of several ratings of the passages together, each 0, 1 or 2 and divided by 2.

    Level: sample. Range: [0, 1], no unit, larger is better. Each of `prompts` is a request with another wording, with
    placeholders for {question} and {passages}. Answers are not read, so cells with equal contexts share the judgement.
    Without passages: NOT_APPLICABLE. Without a usable reply to each wording: FAILED or UNPARSABLE. Source: ragas 0.4,
    `ContextRelevance` of `ragas.metrics.collections`, which averages two wordings.
    """

    name: str
    llm: LLM
    system: str
    prompts: tuple[str, ...]
    reminder: str
    max_attempts: int

    version: ClassVar[int] = 2
    larger_is_better: ClassVar[bool | None] = True
    reads_answers: ClassVar[bool] = False
    n_rounds_to_prepare: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return error messages for an empty name, no wording, missing placeholders, and a number below 1."""
        problems = [] if self.name.strip() else ["name: is empty, expected the metric's name"]
        problems += [] if self.prompts else ["prompts: is empty, expected at least one wording"]
        for number, prompt in enumerate(self.prompts):
            problems += missing_placeholders(f"prompts[{number}]", prompt, ("{question}", "{passages}"))
        return problems + too_small(self, max_attempts=1)

    @property
    def names(self) -> tuple[str, ...]:
        """The metric's name, its only one."""
        return (self.name,)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompts suit; () for any."""
        return languages_of_prompts(self.system, *self.prompts)

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return one request per wording, or 0 if there are no passages."""
        return len(self.prompts) if n_passages else 0

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the mean rating of each sample. The remarks are the ratings with the judge's reasons."""
        inquiries = [
            self._inquiry(item, number, prompt)
            for item in judged
            if item.passages
            for number, prompt in enumerate(self.prompts, start=1)
        ]
        read = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        outcomes = [
            _outcome([next(replies) for _ in self.prompts])
            if item.passages
            else (ScoreState.NOT_APPLICABLE, "no passages")
            for item in judged
        ]
        scores = mean_scores([value for value, _ in outcomes])
        return Judgements({self.name: scores}, [remark for _, remark in outcomes])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _inquiry(self, item: JudgeInput, number: int, prompt: str) -> Inquiry[GradeVerdict]:
        passages = number_lines([passage.text for passage in item.passages])
        messages = chat_messages(
            self.system, fill(prompt, {"{question}": question_in_context(item.sample), "{passages}": passages})
        )
        request = Request(f"{item.sample.id}#{number}", messages, item.sample, (), verdict_schema(_RATINGS))
        return Inquiry(request, lambda reply: read_verdict(reply, _RATINGS))


def _outcome(replies: Sequence[GradeVerdict | UnreadableReply]) -> tuple[float | ScoreState, str]:
    if unread := [reply for reply in replies if isinstance(reply, UnreadableReply)]:
        worst = worst_unread(unread)
        return worst.state, worst.reason
    verdicts = [reply for reply in replies if isinstance(reply, GradeVerdict)]
    remark = "\n".join(f"{verdict.grade}: {verdict.reason}" for verdict in verdicts)
    return sum(verdict.grade for verdict in verdicts) / len(verdicts) / max(_RATINGS), remark
