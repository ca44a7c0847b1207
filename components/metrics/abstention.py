"""Abstention on questions that cannot be answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.references import require_texts
from components.records import Sample, Scores, ScoreState, TextsWithUnits
from components.text.containing import contains, form_to_search
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.refusals import ABSTENTIONS


@dataclass(frozen=True)
class Abstention:
    """`right_refusals`: the share of unanswerable questions whose answer says that they cannot be answered.

    An answer abstains if it is empty or refused, or if it contains one of `phrases` (as whole words, after
    `answer_form`). The prompt determines the phrases of a model: `prompt=english_abstain` and `prompt=chinese_abstain`
    ask for the first phrase of each language.
    Level: sample. Range: 0 or 1, the mean is a share; larger is better. Tokenizer: none. References are not read.
    Answerable questions are NOT_APPLICABLE. Source: Chen et al. 2024, RGB, rejection rate.
    """

    phrases: tuple[str, ...] = ABSTENTIONS

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("right_refusals",)
    form: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return an error message for missing or empty phrases."""
        return phrase_problems(self.phrases)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the score of each answer.

        Raises ComponentError if the answers or references do not belong to `samples`.
        """
        require_texts(samples, answers, references)
        abstained = detect_abstentions(answers.texts, self.phrases)
        return {"right_refusals": boolean_scores(abstained, [not sample.answerable for sample in samples])}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def phrase_problems(phrases: Sequence[str], meaning: str = "that it has no answer") -> list[str]:
    """Return an error message if the phrases are empty, or if a phrase is empty after normalization."""
    empty = [phrase for phrase in phrases if not form_to_search(phrase)]
    if phrases and not empty:
        return []
    return [f"phrases: got {list(phrases)}, expected words by which an answer says {meaning}"]


def detect_abstentions(answers: Sequence[str], phrases: Sequence[str]) -> list[bool]:
    """Return True for each answer that is empty or contains a phrase."""
    phrase_forms = [form_to_search(phrase) for phrase in phrases]
    forms = [form_to_search(answer) for answer in answers]
    return [not form or any(contains(form, phrase) for phrase in phrase_forms) for form in forms]


def boolean_scores(holds: Sequence[bool], counts: Sequence[bool]) -> Scores:
    """Return scores of 1 where `holds` is true and 0 elsewhere. Other samples are NOT_APPLICABLE."""
    return mean_scores(
        [float(held) if counted else ScoreState.NOT_APPLICABLE for held, counted in zip(holds, counts, strict=True)]
    )
