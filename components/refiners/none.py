"""Texts as they are."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoRefiner:
    """Without a step there is no stage."""

    version: ClassVar[int] = 1

    @property
    def steps(self) -> tuple[()]:
        """None."""
        return ()
