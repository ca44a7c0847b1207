"""The metrics of RAGChecker: claims of the answer and of its reference, checked against each other and the passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.asking.prompt_parts import reference_text
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
    worst_unread,
)
from components.judges.claim_scores import CLAIM_METRICS, ClaimVerdicts, Comparison, Value
from components.judges.prepared import Prepared, preparation_entry, prepared_sample
from components.limits import unknown_names
from components.means import combine_mean, mean_scores
from components.protocols import LLM, Ask, JudgePreparation
from components.records import JudgeInput, Judgements, Sample, ScoreState
from components.text.languages import languages_of_prompts

_NEEDS_ANSWER_CLAIMS = {Comparison.ANSWER_BY_REFERENCE, Comparison.ANSWER_BY_PASSAGE}
_NEEDS_REFERENCE_CLAIMS = {Comparison.REFERENCE_BY_ANSWER, Comparison.REFERENCE_BY_PASSAGE}
_BY_PASSAGE = {Comparison.ANSWER_BY_PASSAGE, Comparison.REFERENCE_BY_PASSAGE}


@dataclass(frozen=True)
class ClaimMetrics:
    """Metrics of claims. `use` selects them by name from `CLAIM_METRICS`, whose functions define them.

    Level: sample. Range: [0, 1], no unit. Larger is better, except for noise sensitivity and hallucination;
    self-knowledge has no better direction. References are split into claims once for all cells, answers once each. Each
    set of claims is then checked against the other text, and against each passage. Only comparisons that `use` needs
    are made: without a metric of answers, cells with equal contexts share the judgement.

    A metric is NOT_APPLICABLE if it would divide by zero: no references, no passages, or a text without a claim, such
    as a refusal. An empty answer covers nothing: its overall recall and F1 are 0. All metrics of a sample come from the
    same replies: if one request fails, or one reply stays unreadable or has more than `max_claims` claims, all metrics
    are FAILED or UNPARSABLE. Source: Ru et al. 2024, "RAGChecker", section 3. The published code counts a division by
    zero as 0. See `ClaimExtractor` and `ClaimChecker` for the fields.
    """

    llm: LLM
    system: str
    claim_prompt: str
    verdict_prompt: str
    reminder: str
    use: tuple[str, ...]
    max_claims: int
    one_by_one: bool
    max_attempts: int
    entailment: Entailment | None = None

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True
    purpose: ClassVar[str] = "judge claims"

    def check(self) -> list[str]:
        """Return error messages for unknown names, missing placeholders in prompts, and numbers below 1."""
        problems = unknown_names(self.use, tuple(CLAIM_METRICS))
        if not self.use or len(set(self.use)) < len(self.use):
            problems.append(f"use: got {list(self.use)}, expected at least one name, each once")
        return list(dict.fromkeys([*problems, *self._extractor.problems(), *self._checker.problems()]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names in `use`."""
        return self.use

    @property
    def directions(self) -> Mapping[str, bool | None]:
        """True for each name if larger values are better, False if smaller ones are, None for neither."""
        return {name: CLAIM_METRICS[name].larger_is_better for name in self.use}

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the texts that the prompts suit; () for any."""
        return languages_of_prompts(self.system, self.claim_prompt, self.verdict_prompt)

    @property
    def reads_answers(self) -> bool:
        """False if `use` has only metrics of the retriever."""
        return self._comparisons != {Comparison.REFERENCE_BY_PASSAGE}

    @property
    def n_rounds_to_prepare(self) -> int:
        """1 if the claims of references are needed, else 0."""
        return int(bool(self._comparisons & _NEEDS_REFERENCE_CLAIMS))

    @property
    def n_rounds(self) -> int:
        """2 if verdicts follow the claims of the answer in further requests, else 1."""
        return 2 if self._splits_answers and not self.entailment else 1

    def without_local_models(self) -> "ClaimMetrics":
        """Return the same judge without the local model of entailment, whose verdicts no request depends on."""
        return replace(self, entailment=Undecided()) if self.entailment else self

    def n_requests_per_sample(self, n_passages: int) -> int:
        """Return 1 for the claims of the answer, and 1 for each comparison, or 1 per passage if compared passage by
        passage. With `one_by_one` it is one per claim; with `entailment`, none.
        """
        n_checks = sum(n_passages if comparison in _BY_PASSAGE else 1 for comparison in self._comparisons)
        return int(self._splits_answers) + n_checks * self._checker.n_requests_per_check

    def prepare(self, samples: Sequence[Sample], ask: Ask) -> JudgePreparation:
        """Return the claims of the references of each sample id, or the reason for their absence; {} if not needed."""
        if not self.n_rounds_to_prepare:
            return {}
        preparation = {sample.id: preparation_entry(ScoreState.NOT_APPLICABLE, "no reference") for sample in samples}
        sources = [SourceText("reference", sample, reference_text(sample)) for sample in samples]
        sources = [source for source in sources if source.text]
        for source, claims in zip(sources, self._extractor.claims(sources, ask), strict=True):
            if isinstance(claims, UnreadableReply):
                entry = preparation_entry(claims.state, f"claims of the reference: {claims.reason}")
            elif claims:
                entry = preparation_entry(ScoreState.VALUE, "", claims=list(claims))
            else:
                entry = preparation_entry(ScoreState.NOT_APPLICABLE, "no claims in the reference")
            preparation[source.sample.id] = entry
        return preparation

    def judge(self, judged: Sequence[JudgeInput], preparation: JudgePreparation, ask: Ask) -> Judgements:
        """Return the metrics of each sample.

        The remarks are its claims, each with what supports it, or the reason for missing values.
        """
        needs_preparation = bool(self.n_rounds_to_prepare)
        preparations = [prepared_sample(preparation, item.sample) if needs_preparation else {} for item in judged]
        claims = self._answer_claims(judged, preparations, ask)
        tasks = [
            _Task(
                item,
                sample_claims if not isinstance(sample_claims, UnreadableReply) else (),
                tuple(facts.get("claims", ())),
            )
            for item, sample_claims, facts in zip(judged, claims, preparations, strict=True)
        ]
        checks = [
            [] if isinstance(sample_claims, UnreadableReply) else list(self._checks(task))
            for task, sample_claims in zip(tasks, claims, strict=True)
        ]
        replies = iter(self._checker.verdicts([check for task_checks in checks for _, check in task_checks], ask))
        scored = [
            self._score(task, sample_claims, [(comparison, next(replies)) for comparison, _ in task_checks])
            for task, sample_claims, task_checks in zip(tasks, claims, checks, strict=True)
        ]
        scores = {name: mean_scores([values[name] for values, _ in scored]) for name in self.use}
        return Judgements(scores, [remark for _, remark in scored])

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _answer_claims(
        self, judged: Sequence[JudgeInput], preparations: Sequence[Prepared], ask: Ask
    ) -> list[Claims | UnreadableReply]:
        """Return the claims of each answer. A sample whose preparation failed gets the state of the preparation."""
        failed = [_failed_preparation(failure) for failure in preparations]
        is_asked = [
            self._splits_answers and not failure and bool(item.answer.strip()) and self._has_other_text(item)
            for item, failure in zip(judged, failed, strict=True)
        ]
        sources = [
            SourceText("answer", item.sample, item.answer)
            for item, asked in zip(judged, is_asked, strict=True)
            if asked
        ]
        claims = iter(self._extractor.claims(sources, ask))
        return [next(claims) if asked else failure or () for asked, failure in zip(is_asked, failed, strict=True)]

    def _has_other_text(self, item: JudgeInput) -> bool:
        """Return True if there is a text to check the claims of the answer against."""
        by_reference = Comparison.ANSWER_BY_REFERENCE in self._comparisons and reference_text(item.sample)
        return bool(by_reference or (Comparison.ANSWER_BY_PASSAGE in self._comparisons and item.passages))

    def _checks(self, task: "_Task") -> list[tuple[Comparison, Check]]:
        """Return the checks of a sample, in order of the passages."""
        item = task.item
        passages: list[tuple[str, ...]] = [(passage.text,) for passage in item.passages]
        texts: dict[Comparison, list[tuple[str, ...]]] = {
            Comparison.ANSWER_BY_REFERENCE: [item.sample.references] if reference_text(item.sample) else [],
            Comparison.REFERENCE_BY_ANSWER: [(item.answer,)] if item.answer.strip() else [],
            Comparison.ANSWER_BY_PASSAGE: passages,
            Comparison.REFERENCE_BY_PASSAGE: passages,
        }
        return [
            (comparison, Check(f"{comparison}.{number}", item.sample, claims, text))
            for comparison in Comparison
            if comparison in self._comparisons and (claims := task.get_claims(comparison))
            for number, text in enumerate(texts[comparison], start=1)
        ]

    def _score(
        self,
        task: "_Task",
        claims: Claims | UnreadableReply,
        replies: Sequence[tuple[Comparison, Verdicts | UnreadableReply]],
    ) -> tuple[dict[str, Value], str]:
        """Return the values of a sample by name, and its remark."""
        unread = [
            outcome for outcome in (claims, *(reply for _, reply in replies)) if isinstance(outcome, UnreadableReply)
        ]
        if unread:
            worst = worst_unread(unread)
            return dict.fromkeys(self.use, worst.state), worst.reason
        verdicts = task.verdicts(replies, covers_nothing=Comparison.REFERENCE_BY_ANSWER in self._comparisons)
        return {name: CLAIM_METRICS[name].compute(verdicts) for name in self.use}, task.remark(verdicts)

    @property
    def _comparisons(self) -> frozenset[Comparison]:
        return frozenset().union(*(CLAIM_METRICS[name].needs for name in self.use if name in CLAIM_METRICS))

    @property
    def _splits_answers(self) -> bool:
        return bool(self._comparisons & _NEEDS_ANSWER_CLAIMS)

    @property
    def _extractor(self) -> ClaimExtractor:
        return ClaimExtractor(self.system, self.claim_prompt, self.reminder, self.max_claims, self.max_attempts)

    @property
    def _checker(self) -> ClaimChecker:
        return ClaimChecker.from_judge(self)


@dataclass(frozen=True)
class _Task:
    """A sample with the claims of its answer and of its references, () if they are not needed or there are none."""

    item: JudgeInput
    answer_claims: Claims
    reference_claims: Claims

    def get_claims(self, comparison: Comparison) -> Claims:
        """Return the claims that a comparison checks."""
        return self.answer_claims if comparison in _NEEDS_ANSWER_CLAIMS else self.reference_claims

    def verdicts(
        self, replies: Sequence[tuple[Comparison, Verdicts | UnreadableReply]], *, covers_nothing: bool
    ) -> ClaimVerdicts:
        """Return which claims are supported. With `covers_nothing`, an empty answer covers none of the references."""
        supported: dict[Comparison, list[list[bool]]] = {comparison: [] for comparison in Comparison}
        for comparison, verdicts in replies:
            if not isinstance(verdicts, UnreadableReply):
                supported[comparison].append([verdict.is_supported for verdict in verdicts])
        covered = supported[Comparison.REFERENCE_BY_ANSWER]
        if covers_nothing and not self.item.answer.strip():
            covered = [[False] * len(self.reference_claims)]
        right = supported[Comparison.ANSWER_BY_REFERENCE]
        by_passage = (
            list(zip(*supported[comparison], strict=True))
            for comparison in (Comparison.ANSWER_BY_PASSAGE, Comparison.REFERENCE_BY_PASSAGE)
        )
        return ClaimVerdicts(right[0] if right else [], covered[0] if covered else [], *by_passage)

    def remark(self, verdicts: ClaimVerdicts) -> str:
        """Return a line per claim: of the answer whether it is right, of the reference whether the answer covers it,
        and the passages that support it.
        """
        lines = [
            *_lines("answer", self.answer_claims, ("right", "wrong"), verdicts.right, verdicts.answer_sources),
            *_lines(
                "reference", self.reference_claims, ("covered", "missed"), verdicts.covered, verdicts.reference_sources
            ),
        ]
        return "\n".join(lines) or ("no claims" if self.item.answer.strip() else "empty answer")


def _lines(
    of: str, claims: Claims, words: tuple[str, str], holds: Sequence[bool], sources: Sequence[Sequence[bool]]
) -> list[str]:
    lines = []
    for index, claim in enumerate(claims):
        facts = [of]
        if holds:
            facts.append(words[0] if holds[index] else words[1])
        if sources:
            numbers = [f"[{number}]" for number, supports in enumerate(sources[index], start=1) if supports]
            facts.append(f"in {' '.join(numbers)}" if numbers else "in no passage")
        lines.append(f"{', '.join(facts)}: {claim}")
    return lines


def _failed_preparation(preparation: Prepared) -> UnreadableReply | None:
    state = ScoreState(preparation.get("state", ScoreState.VALUE))
    return (
        UnreadableReply(state, preparation["reason"]) if state in (ScoreState.FAILED, ScoreState.UNPARSABLE) else None
    )
