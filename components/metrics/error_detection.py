"""Detection and correction of false passages by an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.abstention import boolean_scores, phrase_problems
from components.metrics.contains import contains_all_parts
from components.metrics.references import require_texts
from components.records import Sample, Scores, ScoreState, TextsWithUnits
from components.text.containing import contains, form_to_search
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.normalized_facts import FACT_FORM_VERSION

ERROR_PHRASES = ("factual errors", "factual error", "事实性错误")
"""The phrases that `prompt=english_false_passages` and `prompt=chinese_false_passages` ask for, and the English
singular.
"""


@dataclass(frozen=True)
class ErrorPhrases:
    """Base of the metrics that test whether an answer reports false passages by one of `phrases`, as whole words."""

    phrases: tuple[str, ...] = ERROR_PHRASES

    version: ClassVar[int] = ANSWER_FORM_VERSION + FACT_FORM_VERSION
    form: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return an error message for missing or empty phrases."""
        return phrase_problems(self.phrases, "that its passages are wrong")

    def find_detected(self, answers: Sequence[str]) -> list[bool]:
        """Return True for each answer that contains a phrase."""
        phrases = [form_to_search(phrase) for phrase in self.phrases]
        return [any(contains(form, phrase) for phrase in phrases) for form in map(form_to_search, answers)]

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


@dataclass(frozen=True)
class ErrorDetection(ErrorPhrases):
    """Detection of false passages, and correction of the errors in them.

    `error_detection`: of the questions with false passages, the share whose answer reports errors. `error_correction`:
    of the answers that report errors, the share that contains all parts of the right answer.

    An answer reports errors if it contains one of `phrases`, as whole words. Samples without `fake_answers` are
    NOT_APPLICABLE. For `error_correction`, so are answers that report no error and samples without a right answer. The
    `error_correction` of two models therefore covers different answers, unless they detect the same errors.
    Level: sample. Range: 0 or 1, the mean is a share; larger is better. Tokenizer: none. Empty answer: 0 and
    NOT_APPLICABLE. Source: Chen et al. 2024, RGB, counterfactual robustness: error detection rate and error correction
    rate. The published code searches for phrases and parts as substrings, and counts a rejection as a correction.
    """

    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("error_detection", "error_correction")

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return both scores of each answer.

        Raises ComponentError if the answers or references do not belong to `samples`.
        """
        require_texts(samples, answers, references)
        detected = self.find_detected(answers.texts)
        has_false_passages = [bool(sample.fake_answers) for sample in samples]
        corrected = [
            _correction(sample, answer) if is_detected and sample.fake_answers else ScoreState.NOT_APPLICABLE
            for sample, answer, is_detected in zip(samples, answers.texts, detected, strict=True)
        ]
        return {
            "error_detection": boolean_scores(detected, has_false_passages),
            "error_correction": mean_scores(corrected),
        }


def _correction(sample: Sample, answer: str) -> float | ScoreState:
    is_right = contains_all_parts(sample, answer)
    return ScoreState.NOT_APPLICABLE if is_right is None else float(is_right)
