"""Share of the gold text that reached the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.metrics.gold_spans import Span, count_common_characters, gold_positions, n_characters, needed_spans
from components.records import Context, Documents, Sample, Scores, ScoreState


@dataclass(frozen=True)
class PassageCoverage:
    """Share of the gold passages' characters in the chunks of the context, for chunks of any size and overlap.

    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: none; characters, whitespace included. A
    character in several gold units or several chunks counts once. A unit without positions is its whole document. Only
    the alternative unit with the largest share in the context counts. Units of documents outside the corpus are left
    out; a sample that has no other unit is NO_GOLD. Empty context: 0. A `strict` metric has "_strict" in its name. Give
    it no spans that represent copies of the gold. Source: this project. It is recall in characters, so that one measure
    compares all chunkings.
    """

    strict: bool = False

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("passage_coverage",) or ("passage_coverage_strict",)."""
        return ("passage_coverage_strict",) if self.strict else ("passage_coverage",)

    def score_contexts(
        self, samples: Sequence[Sample], documents: Documents, spans: Sequence[Sequence[Span]], context: Context
    ) -> dict[str, Scores]:
        """Return the coverage of each sample's gold. Raises ComponentError unless there is one sequence of spans per
        sample.
        """
        if len(samples) != len(spans):
            raise ComponentError(
                f"score_contexts: got spans for {len(spans)} of {len(samples)} samples, expected one per sample"
            )
        positions = gold_positions(samples, documents)
        outcomes = [
            _coverage(needed_spans(sample.gold, documents, positions, chunks), chunks)
            for sample, chunks in zip(samples, spans, strict=True)
        ]
        return {self.names[0]: mean_scores(outcomes)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _coverage(gold: Sequence[Span], chunks: Sequence[Span]) -> float | ScoreState:
    n_gold = n_characters(gold)
    return count_common_characters(gold, chunks) / n_gold if n_gold else ScoreState.NO_GOLD
