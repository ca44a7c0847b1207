"""No diversity: every hit stays."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import WordTokenizer
from components.records import Hits, Passages


@dataclass(frozen=True)
class KeepAll:
    """A component that changes nothing. Its depth of 0 means that there is no diversity stage."""

    version: ClassVar[int] = 1
    depth: ClassVar[int] = 0

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """Always None: it reads nothing."""
        return None

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """Return `hits`, the same object."""
        return hits
