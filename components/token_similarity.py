"""Late-interaction similarity: each token of the query is matched with the nearest token of the chunk.

Source: Khattab and Zaharia 2020, "ColBERT", equation 3, with the mean over the query's tokens instead of the sum.
BGE-M3 was trained with the mean (Chen et al. 2024, "M3-Embedding", section 3.2).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from components.encodings import MultiVectors
from components.records import Hits
from components.text.ranking import empty_hits, sort_hits

_RESOLUTION = 6
"""Decimals of a score. BLAS may add in any order, so equal texts tie only after rounding."""

_VECTORS_AT_ONCE = 32_768
"""Chunk vectors per block: 128 MiB as float32 of 1,024 dimensions."""

_QUERY_VECTORS_AT_ONCE = 1024


def score_pairs(queries: MultiVectors, chunks: MultiVectors, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the scores, float32[n_pairs], of (query, chunk) positions, int32[n_pairs, 2].

    A score is the mean, over the query's vectors, of the largest inner product with a vector of the chunk. It is 0 if
    the query or the chunk has no vector.
    """
    scores = np.zeros(len(pairs), dtype=np.float32)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    starts = np.flatnonzero(np.diff(pairs[order, 0], prepend=-1))
    for rows in np.split(order, starts[1:]) if len(order) else []:
        query_vectors = _vectors(queries, int(pairs[rows[0], 0]))
        for some in _blocks(chunks, pairs[rows, 1]):
            scores[rows[some]] = _means(query_vectors, [len(query_vectors)], chunks.rows(pairs[rows[some], 1]))[0]
    return scores


def best_chunks(queries: MultiVectors, chunks: MultiVectors, depth: int) -> Hits:
    """Return the `depth` best chunks of each query by the score of `score_pairs`. Ties go to the first chunk.

    Rows are shorter than `depth` if the corpus has fewer chunks. A query without vectors finds nothing, and a chunk
    without vectors is never found. The search compares all vectors of queries and chunks, so it suits small corpora.
    """
    depth = min(depth, len(chunks))
    best = empty_hits(len(queries), depth)
    for chunk_rows in _blocks(chunks, np.arange(len(chunks))):
        block = chunks.rows(chunk_rows)
        for query_rows in _blocks(queries, np.arange(len(queries)), _QUERY_VECTORS_AT_ONCE):
            query_block = queries.rows(query_rows)
            lengths = query_block.last - query_block.first
            scores = _means(
                np.concatenate([_vectors(query_block, row) for row in range(len(query_block))]), lengths, block
            )
            is_found = (lengths > 0)[:, np.newaxis] & (block.last > block.first)
            chunk = np.where(is_found, chunk_rows, -1)
            merged = sort_hits(
                np.concatenate([best.chunk[query_rows], chunk], axis=1).astype(np.int32),
                np.concatenate([best.score[query_rows], scores], axis=1),
                depth,
            )
            best.chunk[query_rows], best.score[query_rows] = merged.chunk, merged.score
    return best


def _vectors(texts: MultiVectors, row: int) -> NDArray[np.float32]:
    return np.asarray(texts.vectors[texts.first[row] : texts.last[row]], dtype=np.float32)


def _blocks(
    texts: MultiVectors, rows: NDArray[np.integer], n_vectors: int = _VECTORS_AT_ONCE
) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of consecutive indices of `rows` whose texts have about `n_vectors` vectors together."""
    number = np.cumsum(texts.last[rows] - texts.first[rows]) // n_vectors
    for block in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(number)) + 1):
        if len(block):
            yield block


def _means(
    query_vectors: NDArray[np.float32], lengths: "NDArray[np.int64] | list[int]", chunks: MultiVectors
) -> NDArray[np.float32]:
    """Return the scores, float32[n_queries, n_chunks].

    `query_vectors` are the vectors of all queries in sequence, and `lengths` the number of vectors of each.
    """
    scores = np.zeros((len(lengths), len(chunks)), dtype=np.float32)
    queries, rows = np.flatnonzero(lengths), np.flatnonzero(chunks.last > chunks.first)
    if not len(queries) or not len(rows):
        return scores
    vectors = np.concatenate([_vectors(chunks, row) for row in rows.tolist()])
    starts = np.concatenate([[0], np.cumsum((chunks.last - chunks.first)[rows])[:-1]])
    nearest = np.maximum.reduceat(query_vectors @ vectors.T, starts, axis=1)
    n_query_vectors = np.asarray(lengths)[queries]
    first = np.concatenate([[0], np.cumsum(n_query_vectors)[:-1]])
    sums = np.add.reduceat(nearest, first, axis=0)
    scores[np.ix_(queries, rows)] = (sums / n_query_vectors[:, np.newaxis]).round(_RESOLUTION)
    return scores
