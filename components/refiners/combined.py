"""Several refinements, one after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.limits import unknown_names
from components.protocols import LLM, AnyRefinement, Refiner


@dataclass(frozen=True)
class Combined:
    """The steps of all refiners that `use` names among those `known`, each made of what the one before it left. The
    first ones are those of a cell that uses them alone. `llm` is the model that those share which ask one.
    """

    llm: LLM
    known: Mapping[str, Refiner]
    use: tuple[str, ...]

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Names that are not known, or none."""
        mistakes = unknown_names(self.use, self.known)
        return (
            mistakes if self.use else ["use: got none, expected one name or more (for texts as they are, refiner=none)"]
        )

    def __hash__(self) -> int:
        """By names: a mapping has no hash."""
        return hash((self.use, tuple(self.known)))

    @property
    def steps(self) -> tuple[AnyRefinement, ...]:
        """In the order in which they are named; of names that are not known `check` tells."""
        return tuple(step for name in self.use if name in self.known for step in self.known[name].steps)
