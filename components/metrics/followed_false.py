"""Answers that repeat false passages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.metrics.abstention import boolean_scores
from components.metrics.contains import contains_all_parts, contains_fake
from components.metrics.error_detection import ErrorPhrases
from components.metrics.references import require_texts
from components.records import Sample, Scores, TextsWithUnits


@dataclass(frozen=True)
class FollowedFalse(ErrorPhrases):
    """`followed_false`: of the questions with false passages, the share whose answer follows them.

    An answer follows false passages if it contains one of the sample's `fake_answers`, but neither all parts of the
    right answer nor one of `phrases`, which report errors. Samples without `fake_answers` are NOT_APPLICABLE. Level:
    sample. Range: 0 or 1, the mean is a share; smaller is better. Tokenizer: none. Empty answer: 0. Source: this
    project, on the data of the counterfactual test of Chen et al. 2024 (RGB).
    """

    larger_is_better: ClassVar[bool | None] = False
    names: ClassVar[tuple[str, ...]] = ("followed_false",)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the score of each answer.

        Raises ComponentError if the answers or references do not belong to `samples`.
        """
        require_texts(samples, answers, references)
        detected = self.find_detected(answers.texts)
        followed = [
            contains_fake(sample, answer) and not is_detected and not contains_all_parts(sample, answer)
            for sample, answer, is_detected in zip(samples, answers.texts, detected, strict=True)
        ]
        return {"followed_false": boolean_scores(followed, [bool(sample.fake_answers) for sample in samples])}
