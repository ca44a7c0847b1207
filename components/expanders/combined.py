"""Several expanders together, each with separate query variants."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.limits import unknown_names
from components.protocols import LLM, AnyVariant, Expander


@dataclass(frozen=True)
class Combined:
    """The variants of all expanders in `use`, selected by name from those in `known`.

    The retriever fuses their rankings. The hits of each variant equal the hits of a cell with only this variant. `llm`
    is the model for all expanders.
    """

    llm: LLM
    known: Mapping[str, Expander]
    use: tuple[str, ...]

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for names that are unknown, repeated or missing."""
        problems = unknown_names(self.use, self.known)
        if not self.use or len(set(self.use)) < len(self.use):
            problems.append(f"use: got {list(self.use)}, expected at least one name, each once")
        return problems

    def __hash__(self) -> int:
        """Hash the names, because a mapping has no hash."""
        return hash((self.use, tuple(self.known)))

    @property
    def variants(self) -> tuple[AnyVariant, ...]:
        """The variants of the expanders in use, in their order, without duplicates."""
        variants: list[AnyVariant] = []
        for name in filter(self.known.get, self.use):  # `check` reports unknown names
            variants += [variant for variant in self.known[name].variants if variant not in variants]
        return tuple(variants)
