"""A compressor that keeps the sentences whose vectors are nearest to the query's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.compressors.extractive import ExtractiveByReranker
from components.protocols import AsksInBatches, Embedder, PretrainedEmbedder, Tokenizer
from components.records import CompressedPassages, Passages
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class ExtractiveByVectors:
    """Keeps the sentences with the largest inner products with the query, up to `share` of the passages' tokens.

    The embedder must be pretrained: one that learns from a corpus would depend on the other passages. Otherwise works
    like `ExtractiveByReranker`. Source: Xu et al. 2024, "RECOMP", section 3.1 (extractive compressor: inner products of
    a dual encoder).
    """

    embedder: Embedder
    share: float = 0.5
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for a share out of range, and for an embedder that learns from a corpus or asks a
        server.
        """
        problems = [] if 0 < self.share <= 1 else [f"share: got {self.share}, expected a share in (0, 1]"]
        name = type(self.embedder).__name__
        if not isinstance(self.embedder, PretrainedEmbedder):
            problems.append(f"embedder: got {name}, which learns from a corpus, expected a model, or embedder=hashing")
        elif isinstance(self.embedder, AsksInBatches):
            problems.append(f"embedder: got {name}, which calls a server, expected an embedder that runs here")
        return problems

    def compress(self, queries: Sequence[str], passages: Sequence[Sequence[str]]) -> list[CompressedPassages]:
        """Return the pieces per query."""
        return ExtractiveByReranker(_InnerProducts(self.embedder), self.share, self.tokenizer).compress(
            queries, passages
        )


@dataclass(frozen=True)
class _InnerProducts:
    """An embedder as a reranker."""

    embedder: Embedder
    depth: int = 1

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        query_vectors = self.embedder.embed_queries(queries, {})
        chunk_vectors = self.embedder.embed_chunks(chunks, {})
        scores: NDArray[np.float32] = np.einsum("ij,ij->i", query_vectors[pairs[:, 0]], chunk_vectors[pairs[:, 1]])
        return scores
