"""Shared parts of vector indexes: rankings from similarities, shortened vectors, and rescoring."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.records import Hits
from components.text.ranking import sort_hits
from components.vector_indexes.mapped import release, row_blocks

BEYOND = 32
"""Hits requested beyond the depth, so that ties at the last place also break by position."""

_RESOLUTION = 6
"""Decimals of a similarity. BLAS sums in varying order, so equal vectors tie only after rounding."""


def rank(score: NDArray[np.float32], chunk: NDArray[np.integer], depth: int) -> Hits:
    """Return rounded rankings without chunks of similarity 0 (zero vectors); ties break by position."""
    # If FAISS finds fewer hits than requested, it pads with chunk -1 and a meaningless score.
    rounded = np.where(chunk >= 0, score, np.float32(0)).round(_RESOLUTION)
    chunks = np.where(rounded != 0, chunk, -1).astype(np.int32)
    return sort_hits(chunks, rounded, depth)


def first_stage_problems(dimensions: int | None, oversampling: float) -> list[str]:
    """Return one message per error in the fields of an index with rescoring."""
    problems = []
    if dimensions is not None and dimensions < 1:
        problems.append(f"dimensions: got {dimensions}, expected at least 1, or null for all dimensions")
    if oversampling < 1:
        problems.append(f"oversampling: got {oversampling:g}, expected at least 1 candidate per hit")
    return problems


def shorten_vectors(vectors: NDArray[np.float32], dimensions: int | None) -> NDArray[np.float32]:
    """Return the first `dimensions` of float32[n, d], scaled to unit length; unchanged vectors for None.

    Vectors must be trained for this: Kusupati et al. 2022, "Matryoshka Representation Learning". A vector that is zero
    in its first dimensions stays zero. Raises ComponentError if there are fewer dimensions.
    """
    if dimensions is None:
        return vectors
    if dimensions > vectors.shape[1]:
        raise ComponentError(
            f"vector_index.dimensions: got {dimensions}, expected at most {vectors.shape[1]}, the dimensions of the "
            "embedder's vectors, or null for all"
        )
    first = np.ascontiguousarray(vectors[:, :dimensions])
    lengths = np.linalg.norm(first, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(first, lengths, out=np.zeros_like(first), where=lengths > 0)
    return unit


def shorten_blocks(vectors: NDArray[np.float32], dimensions: int | None) -> Iterator[NDArray[np.float32]]:
    """Yield the results of `shorten_vectors` in blocks, so that vectors on disk need not fit into memory."""
    for block in row_blocks(vectors):
        yield shorten_vectors(np.ascontiguousarray(block), dimensions)


class TwoStages(Protocol):
    """An index whose first stage compares reduced vectors."""

    @property
    def dimensions(self) -> int | None:
        """Number of dimensions of the first stage; None for all."""

    @property
    def rescore(self) -> bool:
        """True if the full vectors decide among the hits of the first stage."""

    @property
    def oversampling(self) -> float:
        """Number of candidates per hit."""


def search_in_two_stages(
    index: TwoStages,
    first_stage: Callable[[NDArray[np.float32], int], Hits],
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    depth: int,
) -> Hits:
    """Return the `depth` nearest of the first stage, or the best of its candidates by the full vectors.

    `first_stage` gets shortened queries and a number of hits.
    """
    depth = min(depth, len(vectors))
    n_candidates = min(ceil(depth * index.oversampling), len(vectors)) if index.rescore else depth
    candidates = first_stage(shorten_vectors(queries, index.dimensions), n_candidates)
    return rescore_hits(candidates.chunk, vectors, queries, depth) if index.rescore else candidates


def rescore_hits(
    candidates: NDArray[np.int32], vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int
) -> Hits:
    """Return the `depth` best candidates by the inner product of the full vectors. Other vectors are not read.

    `candidates` is int32[n_queries, n], padded with -1.
    """
    import faiss

    vectors, queries = np.ascontiguousarray(vectors), np.ascontiguousarray(queries)
    ids = candidates.astype(np.int64)
    scores = np.zeros(ids.shape, dtype=np.float32)
    if ids.size:
        faiss.fvec_inner_products_by_idx(  # type: ignore[attr-defined]  # missing in its stubs
            faiss.swig_ptr(scores),
            faiss.swig_ptr(queries),
            faiss.swig_ptr(vectors),
            faiss.swig_ptr(ids),
            vectors.shape[1],
            *ids.shape,
        )
    release(vectors)
    return rank(scores, candidates, depth)
