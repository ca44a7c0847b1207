"""Corpus BLEU-4, counted by sacreBLEU and combined here for many resamples at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.metrics.references import require_one_answer_per_sample
from components.records import Sample, Scores, ScoreState

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_MAX_ORDER = 4
_N_STATISTICS = 2 + 2 * _MAX_ORDER
_TOKENIZERS = {"zh": "zh", "en": "13a"}
_VARIABLE_N_REFERENCES = -1


@dataclass(frozen=True)
class Bleu:
    """BLEU-4 of all answers of a subset together, equal to sacreBLEU's corpus score / 100 (exponential smoothing).

    Level: corpus, so a single sample has no value (NaN). Range: [0, 1], no unit, larger is better.
    Tokenizer: sacreBLEU's, by `language`: "zh" (Chinese characters, 13a for the rest) or "en" (13a).
    Empty answer: an empty hypothesis, which adds its reference's length to the brevity penalty. Blank references are
    left out; a sample with no other is NOT_APPLICABLE. Samples may differ in their number of references.
    Source: Papineni et al. 2002, "BLEU"; Post 2018, "A Call for Clarity in Reporting BLEU Scores".
    """

    language: str = "zh"

    version: ClassVar[int] = 1

    @property
    def names(self) -> tuple[str, ...]:
        """("bleu",)."""
        return ("bleu",)

    @property
    def signature(self) -> str:
        """SacreBLEU's signature, to be kept with the results. Its number of references is always "var"."""
        bleu = self._sacrebleu()
        bleu.num_refs = _VARIABLE_N_REFERENCES
        return str(bleu.get_signature())

    def check(self) -> list[str]:
        """A mistake if the language has no tokenizer."""
        if self.language in _TOKENIZERS:
            return []
        return [f"language: got {self.language!r}, wanted one of {', '.join(_TOKENIZERS)}"]

    def score_answers(self, samples: Sequence[Sample], answers: Sequence[str]) -> dict[str, Scores]:
        """Statistics float64[n_samples, 10] in sacreBLEU's order: answer length and closest reference length in tokens,
        matched n-grams for n = 1..4, n-grams of the answer for n = 1..4.

        Raises ComponentError on an unknown language, or unless there is one answer per sample.
        """
        require_one_answer_per_sample(samples, answers)
        bleu = self._sacrebleu()
        statistics = np.zeros((len(samples), _N_STATISTICS), dtype=np.float64)
        states = [ScoreState.NOT_APPLICABLE] * len(samples)
        for row, (sample, answer) in enumerate(zip(samples, answers, strict=True)):
            references = [reference for reference in sample.references if reference.strip()]
            if references:
                statistics[row] = _count(bleu, answer, references)
                states[row] = ScoreState.VALUE
        return {"bleu": Scores(statistics, tuple(states), np.full(len(samples), np.nan))}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """BLEU in [0, 1], float64[...], from sums float64[..., 10]; NaN where the references have no token."""
        answer_length, reference_length = sums[..., 0], sums[..., 1]
        n_matched, n_total = sums[..., 2 : 2 + _MAX_ORDER], sums[..., 2 + _MAX_ORDER :]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_precision = np.log(_smoothed(n_matched) / n_total).mean(axis=-1)
            log_brevity_penalty = np.minimum(0.0, 1.0 - reference_length / answer_length)
            score = np.exp(log_precision + log_brevity_penalty)
        # sacreBLEU: no match of any order gives 0, and so does a corpus too short to have a 4-gram.
        has_score = n_matched.any(axis=-1) & n_total.all(axis=-1)
        bleu: NDArray[np.float64] = np.where(reference_length > 0, np.where(has_score, score, 0.0), np.nan)
        return bleu

    def _sacrebleu(self) -> "BLEU":
        from sacrebleu.metrics.bleu import BLEU

        mistakes = self.check()
        if mistakes:
            raise ComponentError(f"Bleu: {mistakes[0]}")
        return BLEU(tokenize=_TOKENIZERS[self.language], max_ngram_order=_MAX_ORDER)


def _count(bleu: "BLEU", answer: str, references: Sequence[str]) -> list[int]:
    """The ten statistics of one answer."""
    score = bleu.corpus_score([answer], [[reference] for reference in references])
    return [score.sys_len, score.ref_len, *score.counts, *score.totals]


def _smoothed(n_matched: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matched n-grams, the i-th order without any (over the last axis) counting 1 / 2^i: smoothing "exp"."""
    is_zero = n_matched == 0
    return np.where(is_zero, 0.5 ** np.cumsum(is_zero, axis=-1), n_matched)
