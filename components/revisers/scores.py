"""Metrics of revised answers. The reviser's own model gives the verdicts, so they rank no cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation, Reviser
from components.records import AnswerCheck, JudgeInput, Judgements, Sample, ScoreState
from components.revisers.support_check import PURPOSE
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.refusals import is_refusal


@dataclass(frozen=True)
class RevisionMeans:
    """Means of a value per answer, such as the characters before a reviser.

    Level: sample. Range: shares in [0, 1] (0 or 1 per sample) if `is_share`, else characters. Neither direction is
    better. Tokenizer: none. References are not read. Source: counts.
    """

    names: tuple[str, ...]
    is_share: bool = True

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = None

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


SHARES = RevisionMeans(("supported_before", "revised"))
LENGTHS = RevisionMeans(("characters_before", "characters_after"), is_share=False)


@dataclass(frozen=True)
class SupportedAfter:
    """`supported_after`: the share of final answers that the passages support, by the check of the reviser itself.

    Level: sample. Range: 0 or 1, the mean is a share; neither direction is better, because a model judges its own work.
    Requests about unrevised answers equal the reviser's requests, so their replies are shared. An empty answer and an
    abstention state nothing, so they are NOT_APPLICABLE. Source: Asai et al. 2024, "Self-RAG", section 3.
    """

    reviser: Reviser

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = None
    names: ClassVar[tuple[str, ...]] = ("supported_after",)
    reads_answers: ClassVar[bool] = True
    n_rounds_to_prepare: ClassVar[int] = 0
    purpose: ClassVar[str] = PURPOSE

    @property
    def llm(self) -> LLM:
        """The reviser's language model."""
        return self.reviser.llm

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1, or 0 if there are no passages."""
        return min(n_passages, 1)

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], prepared: JudgePreparation, ask: Ask) -> Judgements:
        """Return the score of each answer: 1 if it is supported. The remarks are the verdicts."""
        has_claims = [bool(item.answer.strip()) and not is_refusal(item.answer) for item in judged]
        verdicts = iter(self.reviser.check_answers([*compress(judged, has_claims)], ask))
        checks = [next(verdicts) if has_own else AnswerCheck(None) for has_own in has_claims]
        scores = mean_scores([score_support(verdict) for verdict in checks])
        return Judgements({self.names[0]: scores}, [verdict_text(verdict) for verdict in checks])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def score_support(verdict: AnswerCheck) -> float | ScoreState:
    """Return 1.0 for a supported answer, 0.0 for an unsupported one, or the state that explains why it is unknown."""
    if verdict.supported is not None:
        return float(verdict.supported)
    if verdict.unread or verdict.failed:
        return ScoreState.FAILED if verdict.failed else ScoreState.UNPARSABLE
    return ScoreState.NOT_APPLICABLE


def verdict_text(verdict: AnswerCheck) -> str:
    """Return a verdict in words: "supported; missing: when it was built". "" for an answer that was not checked."""
    if verdict.supported is None:
        return verdict.unread or verdict.failed
    unsupported = f": {' | '.join(verdict.unsupported)}" if any(verdict.unsupported) else ""
    missing = f"; missing: {' | '.join(verdict.missing)}" if verdict.missing else ""
    return f"{'supported' if verdict.supported else 'not supported'}{unsupported}{missing}"
