"""What is searched for."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import Expansion, Sample


@runtime_checkable
class QueryVariant(Component, Protocol):
    """One way to turn a sample into what is searched for. One that gives a single query for every sample says so by a
    class variable `gives_one_query = True`: a single ranking of it is not fused.
    """

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """Per sample one query or more, none of them empty unless the sample's question is."""


@runtime_checkable
class AskedVariant(Component, Protocol):
    """A way to turn a sample into what is searched for by asking a language model."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked, at most once per sample if every reply can be read."""

    @property
    def gives_one_query(self) -> bool:
        """True if every sample gets a single query, whatever the model replies."""

    @property
    def reranker_reads(self) -> bool:
        """True if a reranker scores hits by this query, False if by the sample's question. Of several queries it can
        read none.
        """

    def write(self, samples: Sequence[Sample], ask: "Ask") -> list[Expansion]:
        """One per sample. A reply that cannot be read (after asking again) and a request that failed for good are told
        there, and leave the question itself to be searched for.
        """


AnyVariant = QueryVariant | AskedVariant
"""A way to a query that needs no model, or one that asks a language model."""


@runtime_checkable
class Expander(Component, Protocol):
    """Which variants of the query are searched for. Each is searched for by itself, so that cells share those that they
    have in common; then all rankings are fused.
    """

    @property
    def variants(self) -> Sequence[AnyVariant]:
        """At least one; an expander that is a single variant returns itself."""
