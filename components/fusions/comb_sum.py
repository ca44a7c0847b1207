"""Sums of normalized scores from any number of searches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.fusions.union import out_of_range, ranking_weights, sum_by_chunk
from components.records import Hits
from components.text.ranking import scaled_scores


@dataclass(frozen=True)
class CombSum:
    """Sums scores, mapped to [0, 1] per query and ranking (best hit 1, last hit 0; if all are equal, 1).

    `weights` has one weight per arm of the retriever, in their order; empty for equal weights. A chunk that is missing
    in a ranking gets 0 from it.

    Source: Fox and Shaw 1994, "Combination of Multiple Searches" (CombSUM), with min-max normalization as in Lee 1997,
    "Analyses of Multiple Evidence Combination".
    """

    weights: tuple[float, ...] = ()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for weights out of range."""
        return out_of_range(self.weights)

    def fuse(self, rankings: Sequence[Hits], depth: int) -> Hits:
        """Return the `depth` best hits per query of the union, with float32 scores."""
        weights = ranking_weights(self.weights, len(rankings))
        parts = [weight * scaled_scores(hits) for weight, hits in zip(weights, rankings, strict=True)]
        return sum_by_chunk([hits.chunk for hits in rankings], parts, depth)
