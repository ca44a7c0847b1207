"""No refinement: texts stay unchanged."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoRefiner:
    """A refiner without steps, which adds no stage to a cell."""

    version: ClassVar[int] = 1

    @property
    def steps(self) -> tuple[()]:
        """An empty tuple, for unchanged texts."""
        return ()
