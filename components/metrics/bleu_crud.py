"""BLEU of single answers, as the published CRUD-RAG code computes it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean, mean_scores
from components.metrics.ngrams import count_matches
from components.metrics.references import pair_units
from components.protocols import TextForm, Tokenizer
from components.records import Sample, Scores, ScoreState, TextsWithUnits
from components.text.forms import TextWords
from components.tokenizers.jieba_words import JiebaWords

_ORDERS = (1, 2, 3, 4)


@dataclass(frozen=True)
class BleuCrud:
    """BLEU of single answers as CRUD-RAG publishes it, unsmoothed and without a brevity penalty.

    `bleu_n_crud_compat` for n = 1..4: the share of the answer's n-grams that a reference contains, with clipped counts.
    `bleu_crud_compat`: the geometric mean of the four, 0 if one of them is 0. The published code divides out the
    brevity penalty, so short answers are not penalized.

    In the published code, an empty answer has no value (a division by zero) and is left out of means. Here it scores 0.
    `bleu_answered_crud_compat` is the mean over non-empty answers, in which an empty one is NOT_APPLICABLE.
    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: jieba words with HMM by default, whitespace
    counted. Empty references are left out; a sample that has no other reference is NOT_APPLICABLE.
    Source: Lyu et al. 2024, "CRUD-RAG", its published code; Papineni et al. 2002, "BLEU".
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """bleu, bleu_answered and bleu_1..4, each with _crud_compat."""
        return ("bleu_crud_compat", "bleu_answered_crud_compat", *(f"bleu_{n}_crud_compat" for n in _ORDERS))

    @property
    def form(self) -> TextForm:
        """Words of the unchanged text, including whitespace."""
        return TextWords(self.tokenizer, white_space=True)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the six values of each answer."""
        pairs = pair_units(samples, answers, references)
        assert answers.units is not None, "checked by pair_units"
        lengths = np.diff(answers.units.offsets)
        precisions = []
        for n in _ORDERS:
            matched = count_matches(answers.units, pairs.references, n, pairs.sample)
            precisions.append(matched / np.maximum(lengths - n + 1, 1))
        has_reference = np.isin(np.arange(len(samples)), pairs.sample)
        values = [_geometric_mean(precisions), _geometric_mean(precisions), *precisions]
        counting = [has_reference, has_reference & (lengths > 0), *[has_reference] * len(_ORDERS)]
        return {
            name: mean_scores(_outcomes(value, counts))
            for name, value, counts in zip(self.names, values, counting, strict=True)
        }

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _geometric_mean(precisions: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        mean: NDArray[np.float64] = np.exp(np.log(np.stack(precisions)).mean(axis=0))
    return mean


def _outcomes(values: NDArray[np.float64], counts: NDArray[np.bool_]) -> list[float | ScoreState]:
    return [v if c else ScoreState.NOT_APPLICABLE for v, c in zip(values.tolist(), counts.tolist(), strict=True)]
