"""Retrieval by any number of searches, fused."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, ClassVar, cast

from components.protocols import (
    DenseArm,
    EncodedDenseArm,
    EncodedSparseArm,
    Fusion,
    LateInteractionArm,
    SparseArm,
)
from components.retrievers.arms import depth_mistakes

SearchArm = DenseArm | SparseArm | EncodedDenseArm | EncodedSparseArm | LateInteractionArm


@dataclass(frozen=True)
class MultiArm:
    """Every search at `depth`, each with an embedder or an index of its own, joined by `rule`.

    `weights` are those of the searches by name, 1 for one that is not named; a search that weighs 0 is not made. The
    rule takes them, so its own are left empty.
    """

    searches: Mapping[str, SearchArm]
    weights: Mapping[str, float]
    rule: Fusion
    depth: int = 100

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Of searches in their order, which the fusion adds in, and of weights in any."""
        return hash((tuple(self.searches.items()), frozenset(self.weights.items()), self.rule, self.depth))

    @property
    def arms(self) -> tuple[SearchArm, ...]:
        """The searches that have a weight."""
        return tuple(self.searches[name] for name in self.arm_names)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms, in their order: results tell the rank of each hit in each of them."""
        return tuple(name for name in self.searches if self._weight(name))

    @property
    def fusion(self) -> Fusion:
        """The rule with the weights. A single search is the very one of a retriever that has no other: it has a fusion
        for several queries per sample alone, and weighs 1.
        """
        if not _takes_weights(self.rule):
            return self.rule
        weights = tuple(weight for name in self.searches if (weight := self._weight(name)))
        return cast(Fusion, replace(cast(Any, self.rule), weights=weights if len(weights) > 1 else (1.0,)))

    def _weight(self, name: str) -> float:
        return self.weights.get(name, 1.0)

    def check(self) -> list[str]:
        """Mistakes of depth and weights, and of a rule that cannot take them."""
        unknown = [name for name in self.weights if name not in self.searches]
        mistakes = [
            *depth_mistakes(self.depth),
            *(f"weights.{name}: no such search, there are {', '.join(self.searches) or 'none'}" for name in unknown),
            *(
                f"weights.{name}: got {weight}, expected 0 (the search is left out) or more"
                for name, weight in self.weights.items()
                if not 0 <= weight < inf
            ),
        ]
        if not self.arms:
            mistakes.append("searches: none has a weight, expected at least one (for none, retriever=closed_book)")
        own = getattr(self.rule, "weights", ())
        if _takes_weights(self.rule) and own:
            mistakes.append(f"rule.weights: got {list(own)}, expected []: `weights` beside the searches say it by name")
        elif not _takes_weights(self.rule) and len({self._weight(name) for name in self.searches} - {0}) > 1:
            mistakes.append(
                f"rule: {type(self.rule).__name__} takes no weights, expected equal ones, or a fusion with a field "
                "`weights`, such as ReciprocalRank"
            )
        return mistakes


def _takes_weights(rule: Fusion) -> bool:
    return "weights" in {field.name for field in fields(cast(Any, rule))}
