"""Exact search by the inner product of a model's token weights."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.encodings import SparseVectors
from components.protocols import Arrays
from components.records import Hits
from components.text.ranking import empty_hits, select_best

_RESOLUTION = 6
"""Decimals of a score. A weight depends slightly on the batch of its text, so equal chunks tie only after rounding."""


@dataclass(frozen=True)
class TokenWeights:
    """A search by shared tokens. A chunk's score is the sum of query weight x chunk weight over these tokens.

    Chunks without shared tokens are not hits; ties break by position.
    Source: Chen et al. 2024, "M3-Embedding", section 3.2 (lexical retrieval).
    """

    version: ClassVar[int] = 1

    def build(self, chunks: SparseVectors) -> Arrays:
        """Return the weights by token as CSC arrays: `data` float32, `indices` int32 (chunks, increasing), `indptr`
        int64, and `n_chunks` int64[1].
        """
        lengths = chunks.last - chunks.first
        index = _ranges(chunks.first, lengths)
        ids = chunks.ids[index]
        order = np.argsort(ids, kind="stable")
        return {
            "data": chunks.weights[index][order],
            "indices": np.repeat(np.arange(len(chunks), dtype=np.int32), lengths)[order],
            "indptr": np.searchsorted(ids[order], np.arange(int(ids.max(initial=-1)) + 2)).astype(np.int64),
            "n_chunks": np.array([len(chunks)], dtype=np.int64),
        }

    def search(self, index: Arrays, queries: SparseVectors, depth: int) -> Hits:
        """Return at most `depth` hits per query, the best ones with a score above zero.

        Rows have length `depth`, or the number of chunks if that is smaller.
        """
        data, indices, indptr = (np.asarray(index[name]) for name in ("data", "indices", "indptr"))
        n_chunks = int(index["n_chunks"][0])
        hits = empty_hits(len(queries), min(depth, n_chunks))
        for query, (first, last) in enumerate(zip(queries.first.tolist(), queries.last.tolist(), strict=True)):
            scores = np.zeros(n_chunks, dtype=np.float32)
            for token, weight in zip(queries.ids[first:last].tolist(), queries.weights[first:last], strict=True):
                if token < len(indptr) - 1:  # larger ids occur in no chunk
                    postings = slice(indptr[token], indptr[token + 1])
                    scores[indices[postings]] += weight * data[postings]
            chunk, score = select_best(scores.round(_RESOLUTION), hits.chunk.shape[1])
            hits.chunk[query, : len(chunk)], hits.score[query, : len(score)] = chunk, score
        return hits


def _ranges(first: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return first[0], first[0] + 1, ..., first[1], ...: for each start, as many numbers as `lengths` says."""
    places: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(
        first - (np.cumsum(lengths) - lengths), lengths
    )
    return places
