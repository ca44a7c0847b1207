"""Mean reciprocal rank that counts every gold document separately."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.records import Scores, ScoreState


@dataclass(frozen=True)
class MrrPerDocument:
    """The reciprocal rank of every gold document (0 if it is not ranked), averaged over the sample's gold documents.

    Level: sample. Range: [0, 1], no unit, larger is better. With m gold documents, the best value is (1 + 1/2 + ... +
    1/m) / m. Tokenizer: none. Grades are not read. Empty ranking: 0. No gold document: NO_GOLD.
    Source: Lyu et al. 2024, "CRUD-RAG", its MRR for questions over two and three documents.
    """

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("mrr_per_document",)."""
        return ("mrr_per_document",)

    def score_rankings(
        self, rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]
    ) -> dict[str, Scores]:
        """Return the score of each ranking. Raises ComponentError unless there is one mapping per ranking."""
        if len(rankings) != len(relevant):
            raise ComponentError(
                f"score_rankings: got {len(relevant)} mappings for {len(rankings)} rankings, expected one each"
            )
        outcomes = [_score(ranking, grades) for ranking, grades in zip(rankings, relevant, strict=True)]
        return {"mrr_per_document": mean_scores(outcomes)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _score(ranking: Sequence[str], grades: Mapping[str, int]) -> float | ScoreState:
    if not grades:
        return ScoreState.NO_GOLD
    return sum(1 / rank for rank, document_id in enumerate(ranking, start=1) if document_id in grades) / len(grades)
