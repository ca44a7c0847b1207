"""How much of the gold text reached the prompt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.records import Context, Documents, Evidence, Sample, Scores, ScoreState

Span = tuple[int, int, int]
"""(document position, start, end)."""


@dataclass(frozen=True)
class PassageCoverage:
    """Share of the gold passages' characters that are inside the chunks of the context, whatever their size and
    overlap.

    Level: sample. Range: [0, 1], no unit, larger is better. Tokenizer: none; characters, white space included.
    A character in several gold units or several chunks counts once; a unit without positions is its whole document.
    Units of documents that are not in the corpus are left out; a sample without any other is NO_GOLD. Empty context: 0.
    A `strict` one is named so and is to be given no spans that stand for copies of the gold.
    Source: this project. It is recall in characters, so that one measure compares all chunkings.
    """

    strict: bool = False

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """("passage_coverage",) or ("passage_coverage_strict",)."""
        return ("passage_coverage_strict",) if self.strict else ("passage_coverage",)

    def score_contexts(
        self, samples: Sequence[Sample], documents: Documents, spans: Sequence[Sequence[Span]], context: Context
    ) -> dict[str, Scores]:
        """Coverage of each sample's gold. Raises ComponentError unless there is one sequence of spans per sample."""
        if len(samples) != len(spans):
            raise ComponentError(
                f"score_contexts: got spans for {len(spans)} of {len(samples)} samples, wanted one per sample"
            )
        positions = _gold_positions(samples, documents)
        gold = [_gold_spans(sample.gold, documents, positions) for sample in samples]
        outcomes = [_coverage(units, chunks) for units, chunks in zip(gold, spans, strict=True)]
        return {self.names[0]: mean_scores(outcomes)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means, float64[...], from sums float64[..., 2]."""
        return combine_mean(sums)


def _gold_positions(samples: Sequence[Sample], documents: Documents) -> dict[str, int]:
    """Positions in the corpus of those gold documents that are in it."""
    gold_ids = {unit.document_id for sample in samples for unit in sample.gold}
    return {document_id: position for position, document_id in enumerate(documents.ids) if document_id in gold_ids}


def _gold_spans(units: Sequence[Evidence], documents: Documents, positions: Mapping[str, int]) -> list[Span]:
    """The units that are in the corpus, as spans."""
    spans = []
    for unit in units:
        position = positions.get(unit.document_id)
        if position is not None:
            start = 0 if unit.start is None else unit.start
            end = len(documents.texts[position]) if unit.end is None else unit.end
            spans.append((position, start, end))
    return spans


def _coverage(gold: Sequence[Span], chunks: Sequence[Span]) -> float | ScoreState:
    n_gold = _n_characters(gold)
    if n_gold == 0:
        return ScoreState.NO_GOLD
    # |A and B| = |A| + |B| - |A or B|
    n_covered = n_gold + _n_characters(chunks) - _n_characters([*gold, *chunks])
    return n_covered / n_gold


def _n_characters(spans: Iterable[Span]) -> int:
    """Characters in the union of spans."""
    n_characters = 0
    current_document, covered_until = -1, 0
    for document, start, end in sorted(spans):
        if document != current_document:
            current_document, covered_until = document, 0
        n_characters += max(0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return n_characters
