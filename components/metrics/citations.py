"""Citations of passages with gold evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.metrics.gold_spans import Span, count_common_characters, gold_positions, gold_spans, n_characters
from components.records import Documents, PassagePlaces, Sample, Scores, ScoreState
from components.text.citation_marks import Statement, statements

_ENOUGH = 0.5
"""Share of the characters of a gold unit, or of a passage that is shorter than the unit."""


@dataclass(frozen=True)
class Citations:
    """`citation_precision`: the share of an answer's citations that name a passage with gold. `citation_recall`: the
    share of its statements that cite at least one such passage.

    Statements are sentences. A sentence that names a passage twice cites it once. A number without a passage is a wrong
    citation. A passage has gold if it contains half of the characters of a gold unit, or if half of its own characters
    are gold where it is shorter than the unit. Any passage of a document contains a unit without positions.
    Level: sample. Range: [0, 1], larger is better. Tokenizer: none. An empty or refused answer has recall 0. An answer
    without citations has no precision (NO_CITATIONS). A sample without gold in the corpus is NO_GOLD.
    Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE), section 4, with
    gold evidence instead of a model that judges entailment.
    """

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True
    names: ClassVar[tuple[str, ...]] = ("citation_precision", "citation_recall")

    def score_citations(
        self,
        samples: Sequence[Sample],
        documents: Documents,
        answers: Sequence[str],
        passages: Sequence[Sequence[PassagePlaces]],
    ) -> dict[str, Scores]:
        """Return both scores of each answer. Raises ComponentError unless there are one answer and one list of passages
        per sample.
        """
        if not len(samples) == len(answers) == len(passages):
            raise ComponentError(
                f"score_citations: got {len(answers)} answers and the passages of {len(passages)} for {len(samples)} "
                "samples, expected one of each per sample"
            )
        positions = gold_positions(samples, documents)
        precision: list[float | ScoreState] = []
        recall: list[float | ScoreState] = []
        for sample, answer, places in zip(samples, answers, passages, strict=True):
            gold = gold_spans(sample.gold, documents, positions)
            right = {number for number, passage in enumerate(places, 1) if any(_holds(passage, unit) for unit in gold)}
            stated = statements(answer)
            precision.append(_precision(stated, right) if gold else ScoreState.NO_GOLD)
            recall.append(_recall(stated, right) if gold else ScoreState.NO_GOLD)
        return {"citation_precision": mean_scores(precision), "citation_recall": mean_scores(recall)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _precision(stated: Sequence[Statement], right: set[int]) -> float | ScoreState:
    cited = [number in right for statement in stated for number in statement.cited]
    return sum(cited) / len(cited) if cited else ScoreState.NO_CITATIONS


def _recall(stated: Sequence[Statement], right: set[int]) -> float:
    return sum(not right.isdisjoint(statement.cited) for statement in stated) / max(len(stated), 1)


def _holds(passage: PassagePlaces, unit: Span) -> bool:
    n_common = count_common_characters([unit], [*passage.own, *passage.copied])
    return n_common > 0 and n_common >= _ENOUGH * min(n_characters([unit]), n_characters(passage.own))
