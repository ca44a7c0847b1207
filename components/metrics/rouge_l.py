"""ROUGE-L: how long a subsequence of words an answer shares with a reference."""

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


@dataclass(frozen=True)
class RougeL:
    """F1 of the longest common subsequence of words, white space left out; the best over the references.

    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: jieba words with HMM by default.
    Empty answer: 0. References without a word are left out; a sample with no other is NOT_APPLICABLE.
    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1, with beta = 1.
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)

    version: ClassVar[int] = 1

    @property
    def names(self) -> tuple[str, ...]:
        """("rouge_l",)."""
        return ("rouge_l",)

    def score_answers(self, samples: Sequence[Sample], answers: Sequence[str]) -> dict[str, Scores]:
        """ROUGE-L F1 of each answer."""
        return {"rouge_l": best_over_references(samples, answers, self._word_numbers, _lcs_f1)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)

    def _word_numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """The words of each text, equal words as equal numbers: quicker to compare than strings."""
        numbers: dict[str, int] = {}
        return [
            [numbers.setdefault(word, len(numbers)) for word in words if not word.isspace()]
            for words in self.tokenizer.tokenize(texts)
        ]


def _lcs_f1(answer: list[int], reference: list[int]) -> float:
    """F1 of precision LCS / len(answer) and recall LCS / len(reference)."""
    from rapidfuzz.distance import LCSseq

    return 2 * LCSseq.similarity(answer, reference) / (len(answer) + len(reference))
