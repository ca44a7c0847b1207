"""Several refinements, applied one after another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.limits import unknown_names
from components.protocols import LLM, AnyRefinement, Refiner


@dataclass(frozen=True)
class Combined:
    """The refiners in `use`, one after another, each applied to the result of the previous one.

    `use` contains names from `known`. Cells that share the first refiners share their results. `llm` is the model for
    all refiners that ask one.
    """

    llm: LLM
    known: Mapping[str, Refiner]
    use: tuple[str, ...]

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for unknown names, and for an empty `use`."""
        problems = unknown_names(self.use, self.known)
        return (
            problems
            if self.use
            else ["use: got none, expected at least one name (for texts as they are, refiner=none)"]
        )

    def __hash__(self) -> int:
        """Hash the names only, because a mapping has no hash."""
        return hash((self.use, tuple(self.known)))

    @property
    def steps(self) -> tuple[AnyRefinement, ...]:
        """The steps of all refiners, in the order of `use`. Unknown names, which `check` reports, have none."""
        return tuple(step for name in self.use if name in self.known for step in self.known[name].steps)
