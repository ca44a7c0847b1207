"""Retrieval by any number of fused searches."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, ClassVar, cast

from components.limits import expected_one_of
from components.protocols import (
    DenseArm,
    EncodedDenseArm,
    EncodedSparseArm,
    Fusion,
    GraphArm,
    LateInteractionArm,
    SparseArm,
)
from components.retrievers.arms import depth_problems

SearchArm = DenseArm | SparseArm | EncodedDenseArm | EncodedSparseArm | LateInteractionArm | GraphArm


@dataclass(frozen=True)
class MultiArm:
    """Runs searches at `depth`, each with a separate embedder or index, and fuses them by `rule`.

    `weights` are given by the name of a search, and default to 1. A search with weight 0 is left out. The weights are
    passed to the rule, and the rule itself must have no weights.
    """

    searches: Mapping[str, SearchArm]
    weights: Mapping[str, float]
    rule: Fusion
    depth: int = 100

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Hash the searches in their order, in which the fusion adds scores, and the weights in any order."""
        return hash((tuple(self.searches.items()), frozenset(self.weights.items()), self.rule, self.depth))

    @property
    def arms(self) -> tuple[SearchArm, ...]:
        """The searches with a weight above 0."""
        return tuple(self.searches[name] for name in self.arm_names)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms, in their order. Results show the rank of each hit in each arm."""
        return tuple(name for name in self.searches if self._weight(name))

    @property
    def fusion(self) -> Fusion:
        """The rule with the weights.

        A single search has weight 1, so that it equals the search of a simpler retriever. Its fusion is used only for
        several queries per sample.
        """
        if not _supports_weights(self.rule):
            return self.rule
        weights = tuple(weight for name in self.searches if (weight := self._weight(name)))
        return cast(Fusion, replace(cast(Any, self.rule), weights=weights if len(weights) > 1 else (1.0,)))

    def _weight(self, name: str) -> float:
        return self.weights.get(name, 1.0)

    def check(self) -> list[str]:
        """Return error messages for a depth below 1, invalid weights, and a rule that does not support weights."""
        unknown = [name for name in self.weights if name not in self.searches]
        problems = [
            *depth_problems(self.depth),
            *(f"weights.{name}: unknown search{expected_one_of(name, self.searches)}" for name in unknown),
            *(
                f"weights.{name}: got {weight}, expected at least 0 (0 leaves the search out)"
                for name, weight in self.weights.items()
                if not 0 <= weight < inf
            ),
        ]
        if not self.arms:
            problems.append(
                "searches: got no search with a weight, expected at least one (for none, retriever=closed_book)"
            )
        weights = getattr(self.rule, "weights", ())
        if _supports_weights(self.rule) and weights:
            problems.append(
                f"rule.weights: got {list(weights)}, expected []. Set `weights` of the retriever by name instead."
            )
        elif not _supports_weights(self.rule) and len({self._weight(name) for name in self.searches} - {0}) > 1:
            problems.append(
                f"rule: {type(self.rule).__name__} does not support weights, expected equal ones, or a fusion "
                "with a field `weights`, such as ReciprocalRank"
            )
        return problems


def _supports_weights(rule: Fusion) -> bool:
    return "weights" in {field.name for field in fields(cast(Any, rule))}
