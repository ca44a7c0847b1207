"""Exact match between an answer and a reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.references import best_over_references, pair_units
from components.protocols import TextForm
from components.records import Sample, Scores, ScoreState, TextsWithUnits, Units
from components.text.forms import OmniEvalAnswer, WholeAnswer


@dataclass(frozen=True)
class ExactMatch:
    """1 if the answer equals a reference after normalization, else 0.

    `em`: after `answer_form`, the best value over the references. References that normalize to nothing are left out.
    `em_omnieval_compat`: after OmniEval's normalization (which removes only ASCII punctuation), the mean over all
    references, including empty ones, as in the published code.
    Level: sample. Range: [0, 1], its mean a share; larger is better. Tokenizer: none, whole texts are compared. Empty
    answer: 0 in `em`. A sample without a reference is NOT_APPLICABLE.
    Source: Rajpurkar et al. 2016, "SQuAD", section 6.1; unlike there, `em` does not remove articles ("a", "the").
    """

    omnieval_compat: bool = False

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("em",) or ("em_omnieval_compat",)."""
        return ("em_omnieval_compat",) if self.omnieval_compat else ("em",)

    @property
    def form(self) -> TextForm:
        """The whole answer in a normal form."""
        return OmniEvalAnswer() if self.omnieval_compat else WholeAnswer()

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the exact match of each answer."""
        if self.omnieval_compat:
            return {self.names[0]: _mean_over_references(samples, answers, references)}
        return {self.names[0]: best_over_references(samples, answers, references, _equal)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _mean_over_references(samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits) -> Scores:
    pairs = pair_units(samples, answers, references)
    n_equal = np.bincount(pairs.sample, weights=_equal(pairs.answers, pairs.references), minlength=len(samples))
    counts = [len(sample.references) for sample in samples]
    return mean_scores(
        [e / n if n else ScoreState.NOT_APPLICABLE for e, n in zip(n_equal.tolist(), counts, strict=True)]
    )


def _equal(answers: Units, references: Units) -> NDArray[np.float64]:
    """Return 1.0 where both texts are the same single unit."""
    has_unit = np.diff(answers.offsets) == 1
    first = np.where(has_unit, answers.offsets[:-1], 0)
    ids = answers.ids[first] if len(answers.ids) else np.zeros(len(first), dtype=np.int64)
    is_equal: NDArray[np.float64] = (has_unit & (ids == references.ids[references.offsets[:-1]])).astype(np.float64)
    return is_equal
