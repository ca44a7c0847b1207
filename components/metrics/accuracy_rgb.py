"""Accuracy as in the published RGB code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.references import require_texts
from components.records import Sample, Scores, ScoreState, TextsWithUnits

_REJECTIONS = ("信息不足", "insufficient information")


@dataclass(frozen=True)
class AccuracyRgb:
    """1 if the generated text contains some wording of every part of the answer, as a lower-case substring.

    "12" matches in "112", and a full stop or a space can make a difference. See `Contains` for parts and wordings. A
    text with one of two phrases ("信息不足", "insufficient information") is a rejection even if it says more. It is
    right for an unanswerable question (in the paper: only noise in the passages) and wrong for others. `without_blanks`
    removes spaces from the generated text, as published for the Chinese files.
    Level: sample. Range: 0 or 1, larger is better. Tokenizer: none. Empty answer: 0. A sample with neither parts nor
    references is NOT_APPLICABLE unless it is unanswerable.
    Source: Chen et al. 2024, RGB, its published code (evalue.py).
    """

    without_blanks: bool = False

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("accuracy_rgb_compat",)
    form: ClassVar[None] = None

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the accuracy of each answer.

        Raises ComponentError if the answers or references do not belong to `samples`.
        """
        require_texts(samples, answers, references)
        outcomes = [self._score(sample, text) for sample, text in zip(samples, answers.texts, strict=True)]
        return {self.names[0]: mean_scores(outcomes)}

    def _score(self, sample: Sample, text: str) -> float | ScoreState:
        parts = sample.answer_parts or ((sample.references,) if sample.references else ())
        if not parts and sample.answerable:
            return ScoreState.NOT_APPLICABLE
        form = text.replace(" ", "") if self.without_blanks else text
        if any(phrase in form for phrase in _REJECTIONS):
            return float(not sample.answerable)
        form = form.lower()
        exists = [any(wording.lower() in form for wording in wordings) for wordings in parts]
        return float(bool(exists) and all(exists))

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)
