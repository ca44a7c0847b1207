"""Search in small chunks, but read the larger chunks that contain them."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Chunker, EmbeddingChunker


@dataclass(frozen=True)
class ParentChunks:
    """Cuts two levels of chunks: `parents` cuts documents, and `children` cuts each parent.

    Children are searched. The reranker and the prompt get the parent of a child that was found. Source: "small to big"
    retrieval, as in LangChain's parent document retriever.
    """

    children: Chunker
    parents: Chunker | EmbeddingChunker

    version: ClassVar[int] = 1

    @property
    def size(self) -> int:
        """The size of parents, which are read; 0 for parents of any size."""
        return int(getattr(self.parents, "size", 0))

    def check(self) -> list[str]:
        """Return an error message if children are not smaller than their parents."""
        small, large = getattr(self.children, "size", 0), getattr(self.parents, "size", 0)
        is_same_unit = getattr(self.children, "unit", None) == getattr(self.parents, "unit", None)
        if small and large and is_same_unit and small >= large:
            return [f"children.size: got {small}, expected less than parents.size={large}"]
        return []
