"""Mean average precision as the published OmniEval code computes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.means import combine_mean, mean_scores
from components.records import Scores, ScoreState


@dataclass(frozen=True)
class MapOmniEval:
    """The mean precision at the ranks of the **found** relevant documents; 0 if none was found.

    Unlike in `map@k`, missed relevant documents do not lower the score. Level: sample. Range: [0, 1], no unit, larger
    is better. Tokenizer: none. Grades are not read. Empty ranking: 0. No relevant document: NO_GOLD. Source: Wang et
    al. 2024, "OmniEval", its published code.
    """

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True
    strict: ClassVar[bool] = True  # the published code ignores copies

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("map_omnieval_compat",)."""
        return ("map_omnieval_compat",)

    def score_rankings(
        self, rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]]
    ) -> dict[str, Scores]:
        """Return the score of each ranking. Raises ComponentError unless there is one mapping per ranking."""
        if len(rankings) != len(relevant):
            raise ComponentError(
                f"score_rankings: got {len(relevant)} mappings for {len(rankings)} rankings, expected one each"
            )
        outcomes = [_score(ranking, grades) for ranking, grades in zip(rankings, relevant, strict=True)]
        return {"map_omnieval_compat": mean_scores(outcomes)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)


def _score(ranking: Sequence[str], grades: Mapping[str, int]) -> float | ScoreState:
    if not grades:
        return ScoreState.NO_GOLD
    ranks = [rank for rank, document_id in enumerate(ranking, start=1) if document_id in grades]
    precisions = [n_found / rank for n_found, rank in enumerate(ranks, start=1)]
    return sum(precisions) / len(precisions) if precisions else 0.0
