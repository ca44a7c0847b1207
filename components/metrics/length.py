"""How long answers are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.references import require_one_answer_per_sample
from components.records import Sample, Scores


@dataclass(frozen=True)
class Length:
    """Number of characters of the answer, white space included.

    Level: sample. Range: [0, inf), unit: characters (Unicode code points); neither more nor less is better.
    Tokenizer: none. Empty answer: 0. References are not read. Source: a count.
    """

    version: ClassVar[int] = 1

    @property
    def names(self) -> tuple[str, ...]:
        """("length",)."""
        return ("length",)

    def score_answers(self, samples: Sequence[Sample], answers: Sequence[str]) -> dict[str, Scores]:
        """Characters of each answer. Raises ComponentError unless there is one answer per sample."""
        require_one_answer_per_sample(samples, answers)
        return {"length": mean_scores([float(len(answer)) for answer in answers])}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)
