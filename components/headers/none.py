"""Chunks are searched as they are."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoHeader:
    """Without a writer there is no stage."""

    version: ClassVar[int] = 1

    @property
    def writers(self) -> tuple[()]:
        """None."""
        return ()
