"""Several ways to a query at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.limits import unknown_names
from components.protocols import LLM, AnyVariant, Expander


@dataclass(frozen=True)
class Combined:
    """Searches for the variants of all expanders that `use` names among those `known`, and has their rankings fused by
    the retriever. The hits of each are those of a cell that uses it alone. `llm` is the model that those share which
    ask one.
    """

    llm: LLM
    known: Mapping[str, Expander]
    use: tuple[str, ...]

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Names that are not known, or named twice, or none."""
        mistakes = unknown_names(self.use, self.known)
        if not self.use or len(set(self.use)) < len(self.use):
            mistakes.append(f"use: got {list(self.use)}, expected one name or more, each once")
        return mistakes

    def __hash__(self) -> int:
        """By names: a mapping has no hash."""
        return hash((self.use, tuple(self.known)))

    @property
    def variants(self) -> tuple[AnyVariant, ...]:
        """Those of the expanders in use, in their order, each once."""
        found: list[AnyVariant] = []
        for name in filter(self.known.get, self.use):  # the others are mistakes, which `check` names
            found += [variant for variant in self.known[name].variants if variant not in found]
        return tuple(found)
