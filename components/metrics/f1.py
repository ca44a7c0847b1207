"""Token F1: words that an answer shares with a reference, in any order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.means import combine_mean
from components.metrics.ngrams import count_matches
from components.metrics.references import best_over_references
from components.protocols import TextForm, Tokenizer
from components.records import Sample, Scores, TextsWithUnits, Units
from components.text.forms import AnswerWords, OmniEvalCharacters
from components.tokenizers.jieba_words import JiebaWords


@dataclass(frozen=True)
class F1:
    """F1 of two multisets; the best value over the references.

    `f1`: of words after normalization (`answer_form`), without whitespace. `f1_omnieval_compat`: of the characters of
    OmniEval's normal form, which is words joined by spaces. Spaces count as in the published code, so texts that share
    nothing but spaces score above 0.
    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: jieba words with HMM by default. Empty answer:
    0. References that normalize to nothing are left out; a sample that has no other reference is NOT_APPLICABLE.
    Source: Rajpurkar et al. 2016, "SQuAD", section 6.1; unlike there, `f1` does not remove articles ("a", "the").
    """

    tokenizer: Tokenizer = field(default_factory=JiebaWords)
    omnieval_compat: bool = False

    version: ClassVar[int] = 3
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("f1",) or ("f1_omnieval_compat",)."""
        return ("f1_omnieval_compat",) if self.omnieval_compat else ("f1",)

    @property
    def form(self) -> TextForm:
        """Normalized words, or OmniEval's characters."""
        return OmniEvalCharacters(self.tokenizer) if self.omnieval_compat else AnswerWords(self.tokenizer)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return F1 of each answer."""
        return {self.names[0]: best_over_references(samples, answers, references, _multiset_f1)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _multiset_f1(answers: Units, references: Units) -> NDArray[np.float64]:
    """Return F1 of precision shared / units of the answer and recall shared / units of the reference."""
    n_shared = count_matches(answers, references, 1)
    f1: NDArray[np.float64] = 2 * n_shared / (np.diff(answers.offsets) + np.diff(references.offsets))
    return f1
