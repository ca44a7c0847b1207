"""Searches for the expansions that come with a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Sample


@dataclass(frozen=True)
class Published:
    """Searches for the text that the authors of a benchmark wrote for the search, or had written (FinanceRAG's
    questions with keywords); for the question where there is none.
    """

    version: ClassVar[int] = 1
    gives_one_query: ClassVar[bool] = True

    @property
    def variants(self) -> "tuple[Published]":
        """Itself."""
        return (self,)

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """A data set without any."""
        if not samples or any(sample.expansion or sample.query for sample in samples):
            return []
        return [
            "expander: got published, and no sample of the data set comes with an expansion; expected one that "
            "has some, as dataset=financerag with dataset.queries=both (the questions, and the texts of "
            "queries_prep.jsonl), or questions of your own with the field `expansion`"
        ]

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """One query per sample."""
        return [(sample.expansion or sample.query or sample.question,) for sample in samples]
