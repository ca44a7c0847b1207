"""Corpus BLEU-4, equal to sacreBLEU's. All answers are counted in one pass, and many resamples combined in one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.metrics.ngrams import count_matches
from components.metrics.references import pair_units
from components.records import Sample, Scores, ScoreState, TextsWithUnits, Units
from components.text.forms import SacreBleuTokens

_MAX_ORDER = 4
_N_STATISTICS = 2 + 2 * _MAX_ORDER
_VARIABLE_N_REFERENCES = -1


@dataclass(frozen=True)
class Bleu:
    """BLEU-4 of all answers of a subset together, equal to sacreBLEU's corpus score / 100 (exponential smoothing).

    Level: corpus, so a single sample has no value (NaN). Range: [0, 1], no unit, larger is better. Tokenizer:
    sacreBLEU's, by `language`: "zh" (Chinese characters, 13a for the rest), "en" (13a) or "char". Empty answer: an
    empty hypothesis, which adds its reference's length to the brevity penalty. Blank references are left out; a sample
    that has no other reference is NOT_APPLICABLE. Samples may have different numbers of references.
    Source: Papineni et al. 2002, "BLEU"; Post 2018, "A Call for Clarity in Reporting BLEU Scores".
    """

    language: str = "zh"

    version: ClassVar[int] = 2
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("bleu",)."""
        return ("bleu",)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that the tokens suit; () for any."""
        return {"zh": ("zh",), "en": ("en", "de", "fr", "es")}.get(self.language, ())

    @property
    def form(self) -> SacreBleuTokens:
        """Tokens of SacreBLEU for the language."""
        return SacreBleuTokens(self.language)

    @property
    def signature(self) -> str:
        """SacreBLEU's signature, stored with the results. Its number of references is always "var"."""
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(tokenize=self.form.tokenizer_name, max_ngram_order=_MAX_ORDER)
        bleu.num_refs = _VARIABLE_N_REFERENCES
        return str(bleu.get_signature())

    def check(self) -> list[str]:
        """Return an error message if the language has no tokenizer."""
        return self.form.check()

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return statistics float64[n_samples, 10] in sacreBLEU's order.

        They are answer length and closest reference length in tokens, matched n-grams for n = 1..4, and n-grams of the
        answer for n = 1..4.
        """
        pairs = pair_units(samples, answers, references)
        assert answers.units is not None, "checked by pair_units"
        lengths = np.diff(answers.units.offsets)
        statistics = np.zeros((len(samples), _N_STATISTICS), dtype=np.float64)
        statistics[:, 0] = lengths
        statistics[:, 1] = _closest_lengths(lengths, pairs.references, pairs.sample)
        for n in range(1, _MAX_ORDER + 1):
            statistics[:, 1 + n] = count_matches(answers.units, pairs.references, n, pairs.sample)
            statistics[:, 1 + _MAX_ORDER + n] = np.maximum(lengths - n + 1, 0)
        has_reference = np.isin(np.arange(len(samples)), pairs.sample)
        statistics[~has_reference] = 0
        states = tuple(ScoreState.VALUE if has else ScoreState.NOT_APPLICABLE for has in has_reference.tolist())
        return {"bleu": Scores(statistics, states, np.full(len(samples), np.nan))}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return BLEU in [0, 1], float64[...], of sums float64[..., 10]; NaN if the references have no tokens."""
        answer_length, reference_length = sums[..., 0], sums[..., 1]
        n_matched, n_total = sums[..., 2 : 2 + _MAX_ORDER], sums[..., 2 + _MAX_ORDER :]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_precision = np.log(_smooth(n_matched) / n_total).mean(axis=-1)
            log_brevity_penalty = np.minimum(0.0, 1.0 - reference_length / answer_length)
            score = np.exp(log_precision + log_brevity_penalty)
        # As in sacreBLEU, the score is 0 if nothing matches, or if the corpus is too short for a 4-gram.
        has_score = n_matched.any(axis=-1) & n_total.all(axis=-1)
        bleu: NDArray[np.float64] = np.where(reference_length > 0, np.where(has_score, score, 0.0), np.nan)
        return bleu


def _closest_lengths(lengths: NDArray[np.int64], references: Units, sample: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return per sample the length of the reference closest in length to the answer, or 0 if the sample has no
    reference.

    If two references are equally close, the shorter one is used.
    """
    reference_lengths = np.diff(references.offsets)
    order = np.lexsort((reference_lengths, np.abs(reference_lengths - lengths[sample]), sample))
    owner, first = np.unique(sample[order], return_index=True)
    closest = np.zeros(len(lengths), dtype=np.int64)
    closest[owner] = reference_lengths[order][first]
    return closest


def _smooth(n_matched: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return matched n-grams, with the i-th order without matches (over the last axis) counted as 1 / 2^i: smoothing
    "exp".
    """
    is_zero = n_matched == 0
    if not is_zero.any():
        return n_matched
    return np.where(is_zero, 0.5 ** np.cumsum(is_zero, axis=-1), n_matched)
