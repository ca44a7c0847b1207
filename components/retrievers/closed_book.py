"""No retrieval: the model answers without passages."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class ClosedBook:
    """A retriever without arms: the model answers from its own knowledge."""

    version: ClassVar[int] = 1
    arms: ClassVar[tuple[()]] = ()
    fusion: ClassVar[None] = None
    depth: ClassVar[int] = 0
