"""No expansion: the question is the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Sample


@dataclass(frozen=True)
class NoExpander:
    """Searches for the question alone, without the earlier turns of a conversation."""

    version: ClassVar[int] = 1
    gives_one_query: ClassVar[bool] = True

    @property
    def variants(self) -> "tuple[NoExpander]":
        """The expander itself, its only variant."""
        return (self,)

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """Return one query per sample: the data set's own query if it has one, otherwise the question."""
        return [(sample.query or sample.question,) for sample in samples]
