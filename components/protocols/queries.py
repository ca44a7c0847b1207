"""Query variants: the ways from a sample to the queries of the search."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import Expansion, Sample


@runtime_checkable
class QueryVariant(Component, Protocol):
    """Derives queries from a sample without a language model.

    A variant that returns a single query for every sample has a class variable `gives_one_query = True`. The ranking of
    a single such variant is not fused.
    """

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """Return one or more queries per sample. None of them is empty, unless the sample's question is empty."""


@runtime_checkable
class AskedVariant(Component, Protocol):
    """Derives queries from a sample with requests to a language model."""

    @property
    def llm(self) -> "LLM":
        """The language model. Gets at most one request per sample, not counting retries of unreadable replies."""

    @property
    def gives_one_query(self) -> bool:
        """True if every sample gets a single query, regardless of the reply."""

    @property
    def reranker_reads(self) -> bool:
        """True if a reranker scores hits against this query, False if against the sample's question. It must be False
        if there can be several queries.
        """

    def write(self, samples: Sequence[Sample], ask: "Ask") -> list[Expansion]:
        """Return one Expansion per sample.

        It reports a reply that cannot be parsed after a retry, and a request that failed permanently. The sample is
        then searched with its question.
        """


AnyVariant = QueryVariant | AskedVariant
"""A query variant, with or without a language model."""


@runtime_checkable
class Expander(Component, Protocol):
    """A component that lists query variants.

    Each variant is searched separately, so that cells share the rankings of variants that they have in common. The
    rankings are then fused.
    """

    @property
    def variants(self) -> Sequence[AnyVariant]:
        """The variants, at least one. An expander that is a single variant returns itself."""
