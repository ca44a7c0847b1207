"""Passages that say something false: whether an answer repeats it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.abstention import phrase_mistakes, shares_of
from components.metrics.contains import contains_all_parts, contains_fake
from components.metrics.error_detection import ERROR_PHRASES, which_detect
from components.metrics.references import require_texts_of
from components.records import Sample, Scores, TextsWithUnits
from components.text.facts import FACT_FORM_VERSION
from components.text.normalize import ANSWER_FORM_VERSION


@dataclass(frozen=True)
class FollowedFalse:
    """`followed_false`: of the questions whose passages are false, the share whose answer follows them.

    An answer follows them if it contains one of the sample's `fake_answers`, and neither all parts of the right answer
    nor one of `phrases`, by which it would say that there are errors. Samples without `fake_answers` are
    NOT_APPLICABLE. Level: sample. Range: 0 or 1, the mean is a share; smaller is better. Tokenizer: none. Empty answer:
    0. Source: this project, on the data of the counterfactual test of Chen et al. 2024 (RGB).
    """

    phrases: tuple[str, ...] = ERROR_PHRASES

    version: ClassVar[int] = ANSWER_FORM_VERSION + FACT_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = False
    names: ClassVar[tuple[str, ...]] = ("followed_false",)
    form: ClassVar[None] = None

    def check(self) -> list[str]:
        """Phrases that say nothing."""
        return phrase_mistakes(self.phrases, "that its passages are wrong")

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Of each answer. Raises ComponentError on inputs that do not belong together."""
        require_texts_of(samples, answers, references)
        detected = which_detect(answers.texts, self.phrases)
        followed = [
            contains_fake(sample, answer) and not found and not contains_all_parts(sample, answer)
            for sample, answer, found in zip(samples, answers.texts, detected, strict=True)
        ]
        return {"followed_false": shares_of(followed, [bool(sample.fake_answers) for sample in samples])}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)
