"""Queries from expansions that come with a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Sample


@dataclass(frozen=True)
class Published:
    """Searches for the text that the authors of a benchmark provide, such as FinanceRAG's questions with keywords.

    Samples without such text are searched with their question.
    """

    version: ClassVar[int] = 1
    gives_one_query: ClassVar[bool] = True

    @property
    def variants(self) -> "tuple[Published]":
        """The expander itself, its only variant."""
        return (self,)

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """Return an error message for a data set without expansions."""
        if not samples or any(sample.expansion or sample.query for sample in samples):
            return []
        return [
            "expander: got published, but no sample of the data set has an expansion, expected a data set with "
            "expansions, such as dataset=financerag with dataset.queries=both (the questions, and the texts of "
            "queries_prep.jsonl), or your own questions with the field `expansion`"
        ]

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """Return one query per sample."""
        return [(sample.expansion or sample.query or sample.question,) for sample in samples]
