"""Faithfulness: the share of an answer's claims that the passages in its prompt support."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.readable_requests import UnreadableReply
from components.judges.claim_checks import (
    Check,
    ClaimChecker,
    ClaimExtractor,
    Claims,
    Entailment,
    SourceText,
    Undecided,
    Verdicts,
    verdict_lines,
)
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Sample, ScoreState
from components.text.languages import languages_of_prompts

_Outcome = tuple[float | ScoreState, str]
"""The value, or the state that explains its absence, and the remark."""


@dataclass(frozen=True)
class Faithfulness:
    """The share of an answer's claims that the passages together support: claims supported / claims.

    Level: sample. Range: [0, 1], no unit, larger is better. One request splits the answer into claims, a second one
    checks all of them against the passages (with `one_by_one`, one request per claim; with `entailment`, none). A
    closed-book cell, an empty answer and an answer without a claim, such as a refusal, are NOT_APPLICABLE. An answer is
    UNPARSABLE if it has more than `max_claims` claims, or if any verdict is missing after `max_attempts` requests.
    Source: Es et al. 2023, "RAGAS", section 3. See `ClaimExtractor` and `ClaimChecker` for the fields.
    """

    llm: LLM
    system: str
    claim_prompt: str
    verdict_prompt: str
    reminder: str
    max_claims: int
    one_by_one: bool
    max_attempts: int
    entailment: Entailment | None = None

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("faithfulness",)
    reads_answers: ClassVar[bool] = True
    n_rounds_to_prepare: ClassVar[int] = 0
    purpose: ClassVar[str] = "judge claims"

    def check(self) -> list[str]:
        """Return error messages for missing placeholders in prompts, and numbers below 1."""
        return list(dict.fromkeys([*self._extractor.problems(), *self._checker.problems()]))

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompts suit; () for any."""
        return languages_of_prompts(self.system, self.claim_prompt, self.verdict_prompt)

    @property
    def n_rounds(self) -> int:
        """2: the claims, and then the verdicts; 1 with `entailment`."""
        return 1 if self.entailment else 2

    def without_local_models(self) -> "Faithfulness":
        """Return the same judge without the local model of entailment, whose verdicts no request depends on."""
        return replace(self, entailment=Undecided()) if self.entailment else self

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1 for the claims and 1 for the verdicts, more if asked one by one, or 0 if there are no passages."""
        return 1 + self._checker.n_requests_per_check if n_passages else 0

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return {}: nothing depends on the questions alone."""
        return {}

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the share of supported claims of each answer. The remarks are the claims with their verdicts."""
        outcomes = list(map(_settle, judged))
        rows = [row for row, outcome in enumerate(outcomes) if outcome is None]
        sources = [SourceText("claims", judged[row].sample, judged[row].answer) for row in rows]
        with_claims: list[tuple[int, Claims]] = []
        for row, claims in zip(rows, self._extractor.claims(sources, ask), strict=True):
            if isinstance(claims, UnreadableReply):
                outcomes[row] = claims.state, claims.reason
            elif claims:
                with_claims.append((row, claims))
            else:
                outcomes[row] = ScoreState.NOT_APPLICABLE, "no claims"
        checks = [
            Check("verdicts", judged[row].sample, claims, tuple(passage.text for passage in judged[row].passages))
            for row, claims in with_claims
        ]
        for (row, claims), verdicts in zip(with_claims, self._checker.verdicts(checks, ask), strict=True):
            outcomes[row] = _outcome(claims, verdicts)
        final = [outcome for outcome in outcomes if outcome]
        return Judgements({"faithfulness": mean_scores([value for value, _ in final])}, [remark for _, remark in final])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    @property
    def _extractor(self) -> ClaimExtractor:
        return ClaimExtractor(self.system, self.claim_prompt, self.reminder, self.max_claims, self.max_attempts)

    @property
    def _checker(self) -> ClaimChecker:
        return ClaimChecker.from_judge(self)


def _settle(item: JudgeInput) -> _Outcome | None:
    """Return the outcome of a sample that needs no request."""
    if not item.passages:
        return ScoreState.NOT_APPLICABLE, "no passages"
    return None if item.answer.strip() else (ScoreState.NOT_APPLICABLE, "empty answer")


def _outcome(claims: Claims, verdicts: Verdicts | UnreadableReply) -> _Outcome:
    if isinstance(verdicts, UnreadableReply):
        return verdicts.state, verdicts.reason
    return sum(verdict.is_supported for verdict in verdicts) / len(claims), verdict_lines(claims, verdicts)
