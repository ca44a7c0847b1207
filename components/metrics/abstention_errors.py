"""Wrong abstentions, and answers to questions that cannot be answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.abstention import boolean_scores, detect_abstentions, phrase_problems
from components.metrics.references import require_texts
from components.records import Sample, Scores, TextsWithUnits
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.refusals import ABSTENTIONS


@dataclass(frozen=True)
class AbstentionErrors:
    """`wrong_refusals`: the share of answerable questions whose answer abstains. `false_answers`: the share of
    unanswerable questions whose answer does not abstain.

    `Abstention` defines which answers abstain. Level: sample. Range: 0 or 1, the mean is a share; smaller is better.
    Tokenizer: none. References are not read. Questions of the other kind are NOT_APPLICABLE.
    """

    phrases: tuple[str, ...] = ABSTENTIONS

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = False
    names: ClassVar[tuple[str, ...]] = ("wrong_refusals", "false_answers")
    form: ClassVar[None] = None

    def check(self) -> list[str]:
        """Return an error message for missing or empty phrases."""
        return phrase_problems(self.phrases)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return both scores of each answer.

        Raises ComponentError if the answers or references do not belong to `samples`.
        """
        require_texts(samples, answers, references)
        abstained = detect_abstentions(answers.texts, self.phrases)
        answerable = [sample.answerable for sample in samples]
        return {
            "wrong_refusals": boolean_scores(abstained, answerable),
            "false_answers": boolean_scores([not held for held in abstained], [not can for can in answerable]),
        }

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)
