"""Small chunks are searched, and the larger ones that they are part of are read."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Chunker, EmbeddingChunker


@dataclass(frozen=True)
class ParentChunks:
    """Documents are cut by `parents`, and each of these once more by `children`. A hit on a child stands for its
    parent, which goes to the reranker and into the prompt. Source: "small to big" retrieval, as LangChain's parent
    document retriever does it.
    """

    children: Chunker
    parents: Chunker | EmbeddingChunker

    version: ClassVar[int] = 1

    @property
    def size(self) -> int:
        """Of what is read; 0 for parents of any size."""
        return int(getattr(self.parents, "size", 0))

    def check(self) -> list[str]:
        """Children that are no smaller than their parents."""
        small, large = getattr(self.children, "size", 0), getattr(self.parents, "size", 0)
        is_same_unit = getattr(self.children, "unit", None) == getattr(self.parents, "unit", None)
        if small and large and is_same_unit and small >= large:
            return [f"children.size: got {small}, expected less than parents.size={large}"]
        return []
