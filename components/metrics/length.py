"""Lengths of answers in characters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.references import require_texts
from components.protocols import TextForm
from components.records import Sample, Scores, TextsWithUnits


@dataclass(frozen=True)
class Length:
    """Number of characters of the answer, whitespace included.

    Level: sample. Range: [0, inf), unit: characters (Unicode code points); neither longer nor shorter is better.
    Tokenizer: none. Empty answer: 0. References are not read. Source: a count.
    """

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = None
    is_share: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("length",)."""
        return ("length",)

    @property
    def form(self) -> TextForm | None:
        """None: texts are counted as they are."""
        return None

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the characters of each answer. Raises ComponentError unless there is one answer per sample."""
        require_texts(samples, answers, references)
        return {"length": mean_scores([float(len(answer)) for answer in answers.texts])}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)
