"""No header: chunks are searched as they are."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoHeader:
    """No header, and no header stage."""

    version: ClassVar[int] = 1

    @property
    def writers(self) -> tuple[()]:
        """Always (), which means no stage."""
        return ()
