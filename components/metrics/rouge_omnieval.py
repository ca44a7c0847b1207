"""ROUGE-1, -2 and -L as the published OmniEval code computes them, with the package rouge-chinese."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.lcs import lcs_lengths
from components.metrics.ngrams import count_distinct_ngrams
from components.metrics.references import best_pair_scores, pair_units
from components.protocols import TextForm, Tokenizer
from components.records import Sample, Scores, TextsWithUnits, Units
from components.text.forms import RougeChineseWords
from components.tokenizers.jieba_words import JiebaWords

_NAMES = ("rouge_1_omnieval_compat", "rouge_2_omnieval_compat", "rouge_l_omnieval_compat")


@dataclass(frozen=True)
class RougeOmniEval:
    """F1 of shared n-grams and of the longest common subsequence of words. The best value over the references is used.

    N-grams are sets: a repeated one counts once. The F1's denominator has 1e-8 added. Level: sample. Range: [0, 1), no
    unit, larger is better. Tokenizer: jieba words with HMM by default, whitespace as in rouge-chinese. Empty answer:
    0. Empty references are left out; a sample that has no other reference is NOT_APPLICABLE.
    Source: rouge-chinese 1.0.3, reproduced exactly without calling it.
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """rouge_1, rouge_2 and rouge_l, each with _omnieval_compat."""
        return _NAMES

    @property
    def form(self) -> TextForm:
        """The words that rouge-chinese sees."""
        return RougeChineseWords(self.tokenizer)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the three F1 values of each answer."""
        pairs = pair_units(samples, answers, references)
        ngrams = [_ngram_f1(pairs.answers, pairs.references, n) for n in (1, 2)]
        values = (*ngrams, _lcs_f1(pairs.answers, pairs.references))
        return {name: best_pair_scores(pairs.sample, f1, len(samples)) for name, f1 in zip(_NAMES, values, strict=True)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _ngram_f1(answers: Units, references: Units, n: int) -> NDArray[np.float64]:
    return _f1(*count_distinct_ngrams(answers, references, n))


def _lcs_f1(answers: Units, references: Units) -> NDArray[np.float64]:
    return _f1(lcs_lengths(answers, references), np.diff(answers.offsets), np.diff(references.offsets))


def _f1(shared: NDArray[np.int64], n_answer: NDArray[np.int64], n_reference: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return F1. Precision or recall is 0 for a text without units."""
    precision, recall = shared / np.maximum(n_answer, 1), shared / np.maximum(n_reference, 1)
    f1: NDArray[np.float64] = 2 * precision * recall / (precision + recall + 1e-8)
    return f1
