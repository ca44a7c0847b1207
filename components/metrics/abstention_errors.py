"""The two mistakes about questions that cannot be answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.abstention import phrase_mistakes, shares_of, which_abstain
from components.metrics.references import require_texts_of
from components.records import Sample, Scores, TextsWithUnits
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.refusals import ABSTENTIONS


@dataclass(frozen=True)
class AbstentionErrors:
    """`wrong_refusals`: of the questions that can be answered, the share whose answer says that they cannot.
    `false_answers`: of those that cannot be answered, the share that is answered all the same.

    What abstains is said at `Abstention`. Level: sample. Range: 0 or 1, the mean is a share; smaller is better.
    Tokenizer: none. References are not read. Questions of the other sort are NOT_APPLICABLE.
    """

    phrases: tuple[str, ...] = ABSTENTIONS

    version: ClassVar[int] = 1 + ANSWER_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = False
    names: ClassVar[tuple[str, ...]] = ("wrong_refusals", "false_answers")
    form: ClassVar[None] = None

    def check(self) -> list[str]:
        """Phrases that are none."""
        return phrase_mistakes(self.phrases)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Both of each answer. Raises ComponentError on inputs that do not belong together."""
        require_texts_of(samples, answers, references)
        abstained = which_abstain(answers.texts, self.phrases)
        answerable = [sample.answerable for sample in samples]
        return {
            "wrong_refusals": shares_of(abstained, answerable),
            "false_answers": shares_of([not held for held in abstained], [not can for can in answerable]),
        }

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)
