"""No retrieval."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class ClosedBook:
    """The model answers from its own knowledge."""

    version: ClassVar[int] = 1
    arms: ClassVar[tuple[()]] = ()
    fusion: ClassVar[None] = None
    depth: ClassVar[int] = 0
