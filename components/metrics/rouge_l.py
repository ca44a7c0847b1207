"""ROUGE-L: the longest common subsequence of words of an answer and a reference."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.lcs import lcs_lengths
from components.metrics.references import best_over_references
from components.protocols import TextForm, Tokenizer
from components.records import Sample, Scores, TextsWithUnits, Units
from components.text.forms import TextWords
from components.tokenizers.jieba_words import JiebaWords


@dataclass(frozen=True)
class RougeL:
    """F1 of the longest common subsequence of words; the best value over the references.

    `rouge_l` leaves out whitespace. `rouge_l_crud_compat` counts white-space tokens as words, as the published
    CRUD-RAG code does. The two are equal for texts without whitespace. Level: sample. Range: [0, 1], no unit, larger
    is better. Tokenizer: jieba words with HMM by default. Empty answer: 0. References without a word are left out; a
    sample that has no other reference is NOT_APPLICABLE.
    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1, with beta = 1.
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)
    crud_compat: bool = False

    version: ClassVar[int] = 2
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("rouge_l",) or ("rouge_l_crud_compat",)."""
        return ("rouge_l_crud_compat",) if self.crud_compat else ("rouge_l",)

    @property
    def form(self) -> TextForm:
        """The words of the unchanged text."""
        return TextWords(self.tokenizer, white_space=self.crud_compat)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the ROUGE-L F1 of each answer."""
        return {self.names[0]: best_over_references(samples, answers, references, _lcs_f1)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _lcs_f1(answers: Units, references: Units) -> NDArray[np.float64]:
    """Return F1 of precision LCS / words of the answer and recall LCS / words of the reference."""
    n_words = np.diff(answers.offsets) + np.diff(references.offsets)
    f1: NDArray[np.float64] = 2 * lcs_lengths(answers, references) / n_words
    return f1
