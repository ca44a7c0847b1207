"""Retrieval over a graph of the entities in a corpus."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Embedder, FactReader, Fusion, PassageGraph
from components.retrievers.arms import ByGraph, depth_problems


@dataclass(frozen=True)
class GraphSearch:
    """Finds the `depth` best chunks in a graph of facts, which `extractor` reads from each chunk.

    `fusion` is needed only for an expander with several queries per sample. Source: Gutiérrez et al. 2025, "From RAG to
    Memory: Non-Parametric Continual Learning for Large Language Models" (HippoRAG 2).
    """

    embedder: Embedder
    extractor: FactReader
    graph: PassageGraph
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1

    @property
    def arms(self) -> tuple[ByGraph]:
        """The arm of the graph, its only one."""
        return (ByGraph(self.embedder, self.extractor, self.graph),)

    def check(self) -> list[str]:
        """Return an error message for a depth below 1."""
        return depth_problems(self.depth)
