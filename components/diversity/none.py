"""Every hit stays."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import WordTokenizer
from components.records import Hits, Passages


@dataclass(frozen=True)
class KeepAll:
    """Leaves the ranking as it is: with a depth of 0 there is no stage."""

    version: ClassVar[int] = 1
    depth: ClassVar[int] = 0

    @property
    def tokenizer(self) -> WordTokenizer | None:
        """None: it reads nothing."""
        return None

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """The hits."""
        return hits
