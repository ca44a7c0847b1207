"""Iterative searches: a language model reads the hits, and writes the next query."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import NextSearch, SearchTrail


@runtime_checkable
class IterativeSearch(Component, Protocol):
    """A component that decides, after each search for a question, whether to search again, and with which query."""

    @property
    def llm(self) -> LLM:
        """The language model. Gets at most one request per question and search, not counting retries."""

    @property
    def max_searches(self) -> int:
        """Maximum number of searches per question, including the first, which uses the question itself."""

    @property
    def n_passages(self) -> int:
        """Number of new passages that the model reads after each search, at least 1."""

    @property
    def decides_first(self) -> bool:
        """True if a request also precedes the first search. Without a query, it then finds nothing."""

    def decide(self, trails: Sequence[SearchTrail], ask: Ask) -> list[NextSearch]:
        """Return the next search per trail, from one call of `ask` per attempt.

        For a component that `decides_first`, a trail without passages is about the first search. Any query it returns
        then means that the question is searched for. A reply that cannot be parsed after a retry, and a request that
        failed permanently, are reported.
        """


@runtime_checkable
class SingleSearch(Component, Protocol):
    """The absence of further searches: it adds no stage to a cell."""

    @property
    def searches_once(self) -> bool:
        """Always True."""


AnyIteration = IterativeSearch | SingleSearch
"""Every kind of iteration that a cell can have."""
