"""Approximate search in inverted lists of full vectors, which are read from disk."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.limits import too_small
from components.loading import loading
from components.protocols import Arrays
from components.records import Hits
from components.text.ranking import empty_hits
from components.vector_indexes.exact import best
from components.vector_indexes.index_building import one_thread, sample_vectors
from components.vector_indexes.mapped import read_rows_in_blocks, release, row_blocks, write_rows
from components.vector_indexes.similarity import BEYOND, rank

_N_ITERATIONS = 20
_SEED = 0

_CANDIDATES_AT_ONCE = 1 << 24
"""Maximum number of candidates in memory, which bounds the number of queries per pass over the lists."""

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class IvfFlat:
    """Approximate search in inverted lists, with the scores of `Flat`.

    Each vector is in the list of its nearest centroid. A query is compared with all vectors in the `n_probes` lists
    with the nearest centroids. There are `n_lists` lists, by default the square root of the number of vectors, and
    never more than vectors. Centroids come from spherical k-means on `n_training_per_list` random vectors per list, on
    one thread, so that equal vectors always lead to the same lists.
    Source: Sivic and Zisserman 2003, "Video Google"; Jegou et al. 2011.

    FAISS's own index of this kind must fit into memory while it is built. Here the vectors are in a file, list by list:
    memory holds about 30 bytes per vector while they are sorted, and a block of vectors at a time.
    """

    n_lists: int | None = None
    n_probes: int = 32
    n_training_per_list: int = 64

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = too_small(self, n_lists=1, n_probes=1, n_training_per_list=1)
        if self.n_lists is not None and self.n_probes > self.n_lists:
            problems.append(f"n_probes: got {self.n_probes}, expected at most n_lists={self.n_lists}")
        return problems

    @property
    def as_built(self) -> "IvfFlat":
        """The index with `n_probes=1`, which does not affect the lists."""
        return replace(self, n_probes=1)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return the arrays of the index.

        `centroids` is float32[n_lists, d]. `vectors` is float32[n, d], list by list. `rows` int32[n] are their original
        positions, ascending within a list. `first` int64[n_lists + 1] has the start of each list, and the end.
        """
        if not vectors.size:
            return {"centroids": vectors[:0]}
        centroids = self._centroids(vectors)
        assigned = _nearest_centroids(vectors, centroids)
        rows = np.argsort(assigned, kind="stable").astype(np.int32)
        first = np.concatenate([[0], np.cumsum(np.bincount(assigned, minlength=len(centroids)))])
        return {
            "centroids": centroids,
            "first": first.astype(np.int64),
            "rows": rows,
            "vectors": write_rows(place / "vectors.npy", read_rows_in_blocks(vectors, rows), vectors.shape[1]),
        }

    def _centroids(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        with loading():
            import faiss

        n_lists = min(self.n_lists or isqrt(len(vectors)), len(vectors))
        sample = sample_vectors(vectors, n_lists * self.n_training_per_list)
        clustering = faiss.Kmeans(
            vectors.shape[1],
            n_lists,
            niter=_N_ITERATIONS,
            seed=_SEED,
            spherical=True,
            min_points_per_centroid=1,
            max_points_per_centroid=self.n_training_per_list,
        )
        with one_thread():
            clustering.train(sample)
        return np.asarray(clustering.centroids, dtype=np.float32)

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` nearest vectors in the probed lists."""
        depth = min(depth, len(vectors))
        if not vectors.size or not len(queries):
            return empty_hits(len(queries), depth)
        lists = _Lists(index)
        n_asked = min(depth + BEYOND, lists.longest)
        n = max(1, _CANDIDATES_AT_ONCE // (n_asked * min(self.n_probes, len(lists.centroids))))
        batches = (np.ascontiguousarray(queries[first : first + n]) for first in range(0, len(queries), n))
        batch_hits = [self._search(lists, batch, n_asked, depth) for batch in batches]
        return Hits(
            np.concatenate([hits.chunk for hits in batch_hits]), np.concatenate([hits.score for hits in batch_hits])
        )

    def _search(self, lists: "_Lists", queries: NDArray[np.float32], n_asked: int, depth: int) -> Hits:
        """Search one batch of queries. Each list is read once, and yields its `n_asked` nearest vectors per query."""
        import faiss

        n_probes = min(self.n_probes, len(lists.centroids))
        _, probed = faiss.knn(queries, lists.centroids, n_probes, metric=faiss.METRIC_INNER_PRODUCT)
        score = np.full((len(queries), n_probes, n_asked), -np.inf, dtype=np.float32)
        chunk = np.full(score.shape, -1, dtype=np.int32)

        def search_list(number: int) -> None:
            rows, vectors = lists.rows_of(number), lists.vectors_of(number)
            if len(rows):
                query, probe = np.nonzero(probed == number)
                n = min(n_asked, len(rows))
                nearest = faiss.knn(queries[query], vectors, n, metric=faiss.METRIC_INNER_PRODUCT)
                score[query, probe, :n], chunk[query, probe, :n] = nearest[0], rows[nearest[1]]
                release(lists.vectors)

        # A list is too small for several threads, so threads search different lists.
        with ThreadPoolExecutor(
            faiss.omp_get_max_threads(), initializer=faiss.omp_set_num_threads, initargs=(1,)
        ) as pool:
            for _ in pool.map(search_list, np.unique(probed)):
                pass
        return rank(*best(_join(score), _join(chunk), depth + BEYOND), depth)


class _Lists:
    """The arrays of an index."""

    def __init__(self, index: Arrays) -> None:
        self.centroids: NDArray[np.float32] = np.ascontiguousarray(index["centroids"], dtype=np.float32)
        self.rows: NDArray[np.int32] = np.asarray(index["rows"], dtype=np.int32)
        self.vectors: NDArray[np.float32] = np.asarray(index["vectors"], dtype=np.float32)
        self._first = np.asarray(index["first"], dtype=np.int64)

    @property
    def longest(self) -> int:
        """Number of vectors in the longest list."""
        return int(np.diff(self._first).max())

    def rows_of(self, number: int) -> NDArray[np.int32]:
        """Return the positions of the vectors in a list."""
        return self.rows[self._first[number] : self._first[number + 1]]

    def vectors_of(self, number: int) -> NDArray[np.float32]:
        """Return the vectors in a list, float32[n, d]."""
        return self.vectors[self._first[number] : self._first[number + 1]]


def _nearest_centroids(vectors: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return int64[n], the list of each vector."""
    import faiss

    with one_thread():
        blocks = [faiss.knn(block, centroids, 1, metric=faiss.METRIC_INNER_PRODUCT)[1] for block in row_blocks(vectors)]
    assigned: NDArray[np.int64] = np.concatenate(blocks)[:, 0]
    return assigned


def _join(by_list: NDArray[Number]) -> NDArray[Number]:
    """Concatenate the results of all lists that a query probes."""
    return by_list.reshape(len(by_list), -1)
