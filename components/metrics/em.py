"""Exact match of an answer with a reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.references import best_over_references
from components.records import Sample, Scores
from components.text.normalize import answer_form


@dataclass(frozen=True)
class ExactMatch:
    """1 if the answer equals a reference after normalisation (`answer_form`), else 0; the best over the references.

    Level: sample. Range: {0, 1}, its mean a share in [0, 1]; larger is better. Tokenizer: none, whole texts are
    compared. Empty answer: 0. References that normalise to nothing are left out; a sample with no other is
    NOT_APPLICABLE. Source: Rajpurkar et al. 2016, "SQuAD", section 6.1; articles ("a", "the") are kept.
    """

    version: ClassVar[int] = 1

    @property
    def names(self) -> tuple[str, ...]:
        """("em",)."""
        return ("em",)

    def score_answers(self, samples: Sequence[Sample], answers: Sequence[str]) -> dict[str, Scores]:
        """Exact match of each answer."""
        return {"em": best_over_references(samples, answers, _answer_forms, _equal)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)


def _answer_forms(texts: Sequence[str]) -> list[str]:
    return [answer_form(text) for text in texts]


def _equal(answer: str, reference: str) -> float:
    return float(answer == reference)
