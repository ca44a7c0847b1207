"""Vector indexes on FAISS: exact (flat), graph (HNSW) and compressed (IVF-PQ)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.limits import too_small
from components.loading import loading
from components.protocols import Arrays
from components.records import Hits
from components.text.ranking import empty_hits
from components.vector_indexes.exact import Device, device_problems, nearest
from components.vector_indexes.index_building import one_thread, sample_vectors
from components.vector_indexes.mapped import open_index, row_blocks, write_index
from components.vector_indexes.similarity import BEYOND, rank

_TRAINING_PER_CENTROID = 256
"""Training vectors per centroid. FAISS ignores more."""


@dataclass(frozen=True)
class Flat:
    """Exact search: every query against every vector."""

    device: Device = runtime_only(Device.AUTO, "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return an error message for a GPU if FAISS has no GPU support."""
        return device_problems(self.device)

    @property
    def as_built(self) -> "Flat":
        """The index itself: no field affects the search only."""
        return self

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return {}: the vectors serve as the index."""
        return {}

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` nearest by inner product."""
        depth = min(depth, len(vectors))
        if not len(vectors) or not len(queries) or not vectors.shape[1]:
            return empty_hits(len(queries), depth)
        score, chunk = nearest(queries, vectors, min(depth + BEYOND, len(vectors)), self.device)
        return rank(score, chunk, depth)


@dataclass(frozen=True)
class Hnsw:
    """Approximate search in a navigable small-world graph (Malkov and Yashunin 2018).

    The graph is built on one thread, so that equal vectors always lead to the same graph.
    """

    n_links: int = 32
    ef_construction: int = 200
    ef_search: int = 256

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for numbers that FAISS would misinterpret, or that would keep it busy forever."""
        return too_small(self, n_links=2, ef_construction=1, ef_search=1)

    @property
    def as_built(self) -> "Hnsw":
        """The index with the default `ef_search`, which does not affect the graph."""
        return replace(self, ef_search=Hnsw.ef_search)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return `faiss`, the index in FAISS's file format, uint8."""
        with loading():
            import faiss

        index = faiss.IndexHNSWFlat(vectors.shape[1], self.n_links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.ef_construction
        with one_thread():
            for block in row_blocks(vectors):
                index.add(np.ascontiguousarray(block))
        return {"faiss": write_index(place / "faiss.npy", index)}

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return approximately the `depth` nearest by inner product."""
        loaded = open_index(index["faiss"])
        # A search finds at most as many hits as it has candidates.
        loaded.hnsw.efSearch = max(self.ef_search, min(depth, loaded.ntotal) + BEYOND)
        return _search(loaded, queries, depth)


@dataclass(frozen=True)
class IvfPq:
    """Approximate search in inverted lists of product-quantised vectors (Jegou et al. 2011).

    It needs about `n_subvectors` bytes per vector. Each query searches `n_probes` of the `n_lists` lists. The number of
    dimensions must be a multiple of `n_subvectors`.
    """

    n_lists: int = 256
    n_subvectors: int = 16
    n_bits: int = 8
    n_probes: int = 16

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for numbers below 1, and for more probes than lists."""
        problems = too_small(self, n_lists=1, n_subvectors=1, n_bits=1, n_probes=1)
        if not problems and self.n_probes > self.n_lists:
            problems.append(f"n_probes: got {self.n_probes}, expected at most n_lists={self.n_lists}")
        return problems

    @property
    def as_built(self) -> "IvfPq":
        """The index with `n_probes=1`, which does not affect the lists."""
        return replace(self, n_probes=1)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return `faiss`, the index in FAISS's file format, uint8, trained on 256 random vectors per centroid.

        Raises ComponentError if there are too few vectors, or if `n_subvectors` does not divide the dimensions.
        """
        with loading():
            import faiss

        from components.errors import ComponentError

        needed = max(self.n_lists, 2**self.n_bits)
        if len(vectors) < needed or vectors.shape[1] % self.n_subvectors:
            raise ComponentError(
                f"IVF-PQ: got {len(vectors)} vectors of {vectors.shape[1]} dimensions, expected at least {needed} "
                f"vectors (n_lists, 2^n_bits) and dimensions divisible by n_subvectors={self.n_subvectors}. "
                "For small corpora use vector_index=flat."
            )
        quantizer = faiss.IndexFlatIP(vectors.shape[1])
        index = faiss.IndexIVFPQ(
            quantizer, vectors.shape[1], self.n_lists, self.n_subvectors, self.n_bits, faiss.METRIC_INNER_PRODUCT
        )
        with one_thread():
            index.train(sample_vectors(vectors, _TRAINING_PER_CENTROID * needed))
        for block in row_blocks(vectors):
            index.add(np.ascontiguousarray(block))
        return {"faiss": write_index(place / "faiss.npy", index)}

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return approximately the `depth` nearest by inner product, with scores of the quantised vectors."""
        loaded = open_index(index["faiss"])
        loaded.nprobe = self.n_probes
        return _search(loaded, queries, depth)


def _search(index: Any, queries: NDArray[np.float32], depth: int) -> Hits:
    depth = min(depth, index.ntotal)
    n_asked = min(depth + BEYOND, index.ntotal)
    if not n_asked or not len(queries):
        return empty_hits(len(queries), depth)
    score, chunk = index.search(queries, n_asked)
    return rank(score, chunk, depth)
