"""The metrics of RAGChecker, computed from verdicts on the claims of an answer and of its reference.

Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation", section 3.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from components.records import ScoreState

Value = float | ScoreState
_NOT_APPLICABLE = ScoreState.NOT_APPLICABLE


class Comparison(StrEnum):
    """The claims that are checked, and the text that they are checked against."""

    ANSWER_BY_REFERENCE = "answer_by_reference"
    REFERENCE_BY_ANSWER = "reference_by_answer"
    ANSWER_BY_PASSAGE = "answer_by_passage"
    REFERENCE_BY_PASSAGE = "reference_by_passage"


@dataclass(frozen=True)
class ClaimVerdicts:
    """Which claims of one sample are supported. Everything is empty if it was not compared.

    `right`: claims of the answer that the references support. `covered`: claims of the references that the answer
    supports. `answer_sources` and `reference_sources` have, for each claim of the answer or of the references, one
    entry per passage, True if that passage supports the claim.
    """

    right: Sequence[bool] = ()
    covered: Sequence[bool] = ()
    answer_sources: Sequence[Sequence[bool]] = ()
    reference_sources: Sequence[Sequence[bool]] = ()

    @property
    def faithful(self) -> list[bool]:
        """True for each claim of the answer that any passage supports."""
        return [any(sources) for sources in self.answer_sources]

    @property
    def found(self) -> list[bool]:
        """True for each claim of the references that any passage supports."""
        return [any(sources) for sources in self.reference_sources]

    @property
    def relevant(self) -> list[bool]:
        """True for each passage that supports any claim of the references."""
        return [any(claims) for claims in zip(*self.reference_sources, strict=True)]


def precision(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the answer's claims that are right."""
    return _share(verdicts.right)


def recall(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the references' claims that the answer covers."""
    return _share(verdicts.covered)


def f1(verdicts: ClaimVerdicts) -> Value:
    """Return the harmonic mean of precision and recall; 0 if one of them is 0, even if the other one has no value."""
    values = precision(verdicts), recall(verdicts)
    if not verdicts.covered:
        return _NOT_APPLICABLE
    if 0.0 in values:
        return 0.0
    first, second = values
    if isinstance(first, ScoreState) or isinstance(second, ScoreState):
        return _NOT_APPLICABLE
    return 2 * first * second / (first + second)


def claim_recall(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the references' claims that any passage supports."""
    return _share(verdicts.found) if verdicts.relevant else _NOT_APPLICABLE


def context_precision(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the passages that support any claim of the references."""
    return _share(verdicts.relevant)


def context_utilization(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the references' claims in the passages that the answer covers."""
    if not (verdicts.relevant and verdicts.covered):
        return _NOT_APPLICABLE
    pairs = zip(verdicts.found, verdicts.covered, strict=True)
    return _share([is_covered for is_found, is_covered in pairs if is_found])


def faithfulness(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the answer's claims that any passage supports."""
    return _share(verdicts.faithful)


def relevant_noise_sensitivity(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the answer's claims that are wrong and supported by a relevant passage."""
    return _noise_sensitivity(verdicts, lambda by_relevant, by_other: by_relevant)


def irrelevant_noise_sensitivity(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the answer's claims that are wrong and supported by irrelevant passages only."""
    return _noise_sensitivity(verdicts, lambda by_relevant, by_other: by_other and not by_relevant)


def hallucination(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the answer's claims that are wrong and that no passage supports."""
    return _share([not faithful and not right for faithful, right in _faithful_and_right(verdicts)])


def self_knowledge(verdicts: ClaimVerdicts) -> Value:
    """Return the share of the answer's claims that are right and that no passage supports."""
    return _share([not faithful and right for faithful, right in _faithful_and_right(verdicts)])


@dataclass(frozen=True)
class ClaimMetric:
    """A metric of claims, the comparisons that it needs, and whether larger values are better (None: neither)."""

    compute: Callable[[ClaimVerdicts], Value]
    needs: frozenset[Comparison]
    larger_is_better: bool | None = True


_RIGHT, _COVERED = Comparison.ANSWER_BY_REFERENCE, Comparison.REFERENCE_BY_ANSWER
_SOURCES, _FOUND = Comparison.ANSWER_BY_PASSAGE, Comparison.REFERENCE_BY_PASSAGE

CLAIM_METRICS: Mapping[str, ClaimMetric] = {
    "overall_precision": ClaimMetric(precision, frozenset({_RIGHT})),
    "overall_recall": ClaimMetric(recall, frozenset({_COVERED})),
    "overall_f1": ClaimMetric(f1, frozenset({_RIGHT, _COVERED})),
    "claim_recall": ClaimMetric(claim_recall, frozenset({_FOUND})),
    "context_precision": ClaimMetric(context_precision, frozenset({_FOUND})),
    "context_utilization": ClaimMetric(context_utilization, frozenset({_FOUND, _COVERED})),
    "relevant_noise_sensitivity": ClaimMetric(
        relevant_noise_sensitivity, frozenset({_SOURCES, _RIGHT, _FOUND}), larger_is_better=False
    ),
    "irrelevant_noise_sensitivity": ClaimMetric(
        irrelevant_noise_sensitivity, frozenset({_SOURCES, _RIGHT, _FOUND}), larger_is_better=False
    ),
    "hallucination": ClaimMetric(hallucination, frozenset({_SOURCES, _RIGHT}), larger_is_better=False),
    "self_knowledge": ClaimMetric(self_knowledge, frozenset({_SOURCES, _RIGHT}), larger_is_better=None),
    "faithfulness": ClaimMetric(faithfulness, frozenset({_SOURCES})),
}
"""The metrics by name, in the order of the paper. Its names for the first three are precision, recall and F1, which
would be mistaken for the word-overlap metrics here.
"""


def _share(values: Sequence[bool]) -> Value:
    return sum(values) / len(values) if values else _NOT_APPLICABLE


def _faithful_and_right(verdicts: ClaimVerdicts) -> list[tuple[bool, bool]]:
    """Return both facts about each claim of the answer; none unless it was compared with passages and references."""
    if not (verdicts.answer_sources and verdicts.right):
        return []
    return list(zip(verdicts.faithful, verdicts.right, strict=True))


def _noise_sensitivity(verdicts: ClaimVerdicts, counts: Callable[[bool, bool], bool]) -> Value:
    relevant = verdicts.relevant
    if not (relevant and verdicts.answer_sources and verdicts.right):
        return _NOT_APPLICABLE
    noisy = []
    for sources, right in zip(verdicts.answer_sources, verdicts.right, strict=True):
        pairs = list(zip(sources, relevant, strict=True))
        by_relevant = any(supports and is_relevant for supports, is_relevant in pairs)
        by_other = any(supports and not is_relevant for supports, is_relevant in pairs)
        noisy.append(not right and counts(by_relevant, by_other))
    return _share(noisy)
