"""Token F1: which words an answer shares with a reference, in any order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.references import best_over_references
from components.protocols import Tokenizer
from components.records import Sample, Scores
from components.text.jieba_words import JiebaWords
from components.text.normalize import answer_form


@dataclass(frozen=True)
class F1:
    """F1 of the multisets of words after normalisation (`answer_form`), white space left out; the best over the
    references.

    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: jieba words with HMM by default.
    Empty answer: 0. References that normalise to nothing are left out; a sample with no other is NOT_APPLICABLE.
    Source: Rajpurkar et al. 2016, "SQuAD", section 6.1; articles ("a", "the") are kept.
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = 1

    @property
    def names(self) -> tuple[str, ...]:
        """("f1",)."""
        return ("f1",)

    def score_answers(self, samples: Sequence[Sample], answers: Sequence[str]) -> dict[str, Scores]:
        """Token F1 of each answer."""
        return {"f1": best_over_references(samples, answers, self._word_counts, _multiset_f1)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)

    def _word_counts(self, texts: Sequence[str]) -> list[Counter[str]]:
        words_of_texts = self.tokenizer.tokenize([answer_form(text) for text in texts])
        return [Counter(word for word in words if not word.isspace()) for words in words_of_texts]


def _multiset_f1(answer: Counter[str], reference: Counter[str]) -> float:
    """F1 of precision shared / total(answer) and recall shared / total(reference)."""
    n_shared = (answer & reference).total()
    return 2 * n_shared / (answer.total() + reference.total())
