"""Context recall: the share of a reference's sentences that the passages in the prompt support."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.readable_requests import UnreadableReply
from components.judges.claim_checks import Check, ClaimChecker, Claims, Entailment, Verdicts, verdict_lines
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Sample, ScoreState
from components.text.languages import languages_of_prompts
from components.text.sentences import split_sentences

_Outcome = tuple[float | ScoreState, str]


@dataclass(frozen=True)
class ContextRecall:
    """The share of a reference's sentences that the passages support; of several references, the best one's.

    Level: sample. Range: [0, 1], no unit, larger is better. Sentences are split as `components.text.sentences` does,
    and checked in one request (with `one_by_one`, in one each; with `entailment`, in none). Answers are not read, so
    cells with equal contexts share the judgement. Without references or passages: NOT_APPLICABLE. A sample is
    UNPARSABLE if its references have more than `max_claims` sentences, or if any verdict is missing after
    `max_attempts` requests. Source: ragas 0.4, `LLMContextRecall`, whose model splits the reference itself. See
    `ClaimChecker` for the fields.
    """

    llm: LLM
    system: str
    verdict_prompt: str
    reminder: str
    max_claims: int
    one_by_one: bool
    max_attempts: int
    entailment: Entailment | None = None

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("context_recall",)
    reads_answers: ClassVar[bool] = False
    n_rounds_to_prepare: ClassVar[int] = 0
    purpose: ClassVar[str] = "judge claims"

    def check(self) -> list[str]:
        """Return error messages for missing placeholders in the prompt, and numbers below 1."""
        return self._checker.problems()

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompt suits; () for any."""
        return languages_of_prompts(self.system, self.verdict_prompt)

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1, or one per sentence, or 0 if there are no passages."""
        return self._checker.n_requests_per_check if n_passages else 0

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the recall of each sample. The remarks are the sentences with their verdicts."""
        sentences = [[split_sentences(reference) for reference in item.sample.references] for item in judged]
        outcomes = [self._settle(item, references) for item, references in zip(judged, sentences, strict=True)]
        rows = [row for row, outcome in enumerate(outcomes) if outcome is None]
        checks = [
            Check(
                "verdicts",
                judged[row].sample,
                _flatten(sentences[row]),
                tuple(passage.text for passage in judged[row].passages),
            )
            for row in rows
        ]
        for row, verdicts in zip(rows, self._checker.verdicts(checks, ask), strict=True):
            outcomes[row] = _outcome(sentences[row], verdicts)
        final = [outcome for outcome in outcomes if outcome]
        scores = mean_scores([value for value, _ in final])
        return Judgements({"context_recall": scores}, [remark for _, remark in final])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _settle(self, item: JudgeInput, sentences: Sequence[Claims]) -> _Outcome | None:
        """Return the outcome of a sample that needs no request."""
        if not any(sentences):
            return ScoreState.NOT_APPLICABLE, "no reference"
        if not item.passages:
            return ScoreState.NOT_APPLICABLE, "no passages"
        if (n := len(_flatten(sentences))) > self.max_claims:
            return ScoreState.UNPARSABLE, f"cannot be read: {n} sentences, more than max_claims={self.max_claims}"
        return None

    @property
    def _checker(self) -> ClaimChecker:
        return ClaimChecker.from_judge(self)


def _flatten(sentences: Sequence[Claims]) -> Claims:
    return tuple(sentence for claims in sentences for sentence in claims)


def _outcome(sentences: Sequence[Claims], verdicts: Verdicts | UnreadableReply) -> _Outcome:
    if isinstance(verdicts, UnreadableReply):
        return verdicts.state, verdicts.reason
    supported = iter([verdict.is_supported for verdict in verdicts])
    shares = [sum(next(supported) for _ in claims) / len(claims) for claims in sentences if claims]
    return max(shares), verdict_lines(_flatten(sentences), verdicts)
