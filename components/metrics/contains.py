"""Containment of the right answer in a generated answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.references import require_texts
from components.records import Sample, Scores, ScoreState, TextsWithUnits
from components.text.containing import contains
from components.text.normalize import ANSWER_FORM_VERSION
from components.text.normalized_facts import FACT_FORM_VERSION, fact_form

Parts = Sequence[Sequence[str]]
"""Parts that an answer should contain, each as its possible wordings."""


@dataclass(frozen=True)
class Contains:
    """`contains_any`: 1 if the answer contains any expected part. `contains_all`: 1 if it contains all parts.

    An answer contains a part if it contains one of the part's wordings, as whole words and whole numbers, after
    `fact_form`. The parts are the sample's `answer_parts`. A sample without parts has a single one, with its references
    as wordings, and the two metrics are equal. Level: sample. Range: 0 or 1, the mean is a share; larger is better.
    Tokenizer: none. Empty answer: 0. Wordings that normalize to nothing are left out; a sample that has no other
    wording is NOT_APPLICABLE. Other content of the answer is ignored, so the metric favours long answers. Source: Chen
    et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation" (RGB), accuracy.
    """

    version: ClassVar[int] = 2 + ANSWER_FORM_VERSION + FACT_FORM_VERSION
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("contains_any", "contains_all")
    form: ClassVar[None] = None

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return both scores of each answer.

        Raises ComponentError if the answers or references do not belong to `samples`.
        """
        require_texts(samples, answers, references)
        contained = [
            _contained_parts(_parts(sample), answer) for sample, answer in zip(samples, answers.texts, strict=True)
        ]
        return {
            "contains_any": mean_scores([float(any(f)) if f else ScoreState.NOT_APPLICABLE for f in contained]),
            "contains_all": mean_scores([float(all(f)) if f else ScoreState.NOT_APPLICABLE for f in contained]),
        }

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def contains_all_parts(sample: Sample, answer: str) -> bool | None:
    """Return True if an answer contains all expected parts; None for a sample without parts and references."""
    contained = _contained_parts(_parts(sample), answer)
    return all(contained) if contained else None


def contains_fake(sample: Sample, answer: str) -> bool:
    """Return True if an answer contains one of the sample's false answers."""
    return any(_contained_parts([_forms(sample.fake_answers)], answer))


def _parts(sample: Sample) -> Parts:
    """Return the normal forms of the wordings of each part, without parts that normalize to nothing."""
    parts = sample.answer_parts or (sample.references,)
    return [forms for forms in map(_forms, parts) if forms]


def _forms(wordings: Sequence[str]) -> list[str]:
    return [form for wording in wordings if (form := fact_form(wording))]


def _contained_parts(parts: Parts, answer: str) -> list[bool]:
    """Return True for each part that the answer contains."""
    form = fact_form(answer)
    return [any(contains(form, wording) for wording in wordings) for wordings in parts]
