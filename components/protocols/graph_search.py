"""The facts of chunks, and the graph that a search follows."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.protocols.component import Arrays, Component
from components.protocols.embedding import Embedder
from components.protocols.language_models import LLM, Ask
from components.records import FactRows, FactsOfChunk, Hits, Passages


@runtime_checkable
class FactReader(Component, Protocol):
    """A component that has a language model read facts from chunks."""

    @property
    def llm(self) -> LLM:
        """The language model of its requests."""

    def read_facts(self, chunks: Passages, ask: Ask) -> list[FactsOfChunk]:
        """Return the outcome of the request for each chunk. At most one request is sent per chunk, not counting
        retries.
        """


@runtime_checkable
class PassageGraph(Component, Protocol):
    """A graph of the phrases of facts and of the chunks that state them, which ranks chunks."""

    @property
    def as_built(self) -> "PassageGraph":
        """The graph with its search-only fields set to fixed values: all that `build` depends on."""

    def build(self, facts: FactRows, phrases: NDArray[np.float32]) -> Arrays:
        """Return the graph as named arrays. `phrases` are the vectors of the phrases, float32[n_phrases, d]."""

    def counts(self, graph: Arrays) -> Mapping[str, int]:
        """Return numbers about a graph for `cell.json`, by names such as `n_synonyms`."""

    def search(
        self,
        graph: Arrays,
        facts: NDArray[np.float32],
        chunks: NDArray[np.float32],
        queries: NDArray[np.float32],
        depth: int,
    ) -> Hits:
        """Return at most `depth` chunks per query, best first. Rows have length `depth`, or the number of chunks if
        that is smaller.

        `facts`, `chunks` and `queries` are vectors of one embedder, float32[n, d]. There may be no facts.
        """


@runtime_checkable
class GraphArm(Protocol):
    """An arm that searches a graph of facts."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of facts, phrases, chunks and queries."""

    @property
    def extractor(self) -> FactReader:
        """The component that reads the facts."""

    @property
    def graph(self) -> PassageGraph:
        """The graph that is searched."""
