"""Vectors in a file: time to index and to search a million, and the part of them in memory.

The vectors are random: unit vectors of 384 dimensions around 2,000 centres. This does not affect times and memory, but
it affects the share of found vectors.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.protocols import VectorIndex
from components.vector_indexes.faiss_index import Flat, IvfPq
from components.vector_indexes.ivf_flat import IvfFlat
from components.vector_indexes.mapped import write_rows
from runner.engine.store import Store

_N_DIMENSIONS, _N_CENTRES, _SPREAD, _DEPTH, _TOP, _N_QUERIES = 384, 2000, 0.8, 100, 10, 100

_INDEXES: dict[str, VectorIndex] = {
    "flat": Flat(),
    "ivf_flat": IvfFlat(),
    "ivf_pq": IvfPq(n_lists=512, n_probes=16, n_subvectors=48),
}
_MAX_GIB = 0.6
"""Memory of one process for any number of vectors: two thirds of the size of a million vectors."""


@dataclass(frozen=True)
class Searched:
    """Seconds of cores for all queries together, seconds for one alone, and the first ten hits of each query."""

    core_seconds: float
    seconds_of_one: float
    first: NDArray[np.int32]


def measure(settings: Settings) -> list[Measure]:
    """Build each index in one process, and search it in another."""
    n = settings.scale.n_large_vectors
    file, store = settings.scratch / "vectors.npy", settings.scratch / "store"
    in_child(_draw, file, n)
    size = f"{n:,} vectors of {_N_DIMENSIONS} dimensions, {file.stat().st_size / 2**30:.2f} GiB"
    measures, exact = [], None
    for name, index in _INDEXES.items():
        built = in_child(_build, name, index, file, store)
        found = in_child(_search, name, index, file, store)
        searched: Searched = found.value
        exact = searched.first if exact is None else exact
        if name != "flat":
            measures += [
                Measure(f"{name}: build", built.value, "s", f"seconds of cores; {size}"),
                Measure(f"{name}: build, peak memory", built.peak_gib, "GiB", size, Bound(_MAX_GIB)),
            ]
        one = f"one query alone {searched.seconds_of_one * 1000:.1f} ms"
        share = (
            sum(len(np.intersect1d(own, best)) for own, best in zip(searched.first, exact, strict=True)) / exact.size
        )
        measures += [
            Measure(f"{name}: {_N_QUERIES} queries", searched.core_seconds, "s", f"seconds of cores; {one}"),
            Measure(f"{name}: search, peak memory", found.peak_gib, "GiB", size, Bound(_MAX_GIB)),
            Measure(f"{name}: found", share, "share", "of flat's first ten"),
        ]
    return measures


def _draw(file: Path, n: int) -> None:
    write_rows(file, _draw_blocks(n, seed=1), _N_DIMENSIONS)


def _build(name: str, index: VectorIndex, file: Path, root: Path) -> float:
    """Build the index and store it. Return the seconds of cores."""
    store = Store(root)
    started = time.process_time()
    parts = index.build(_vectors(file), store.workspace(name))
    seconds = time.process_time() - started
    store.write("vector_index", name, parts, seconds=0.0, made_from={})
    store.discard_workspace(name)
    return seconds


def _search(name: str, index: VectorIndex, file: Path, root: Path) -> Searched:
    entry = Store(root).find("vector_index", name)
    assert entry is not None, "it was just built"
    parts, vectors = entry.parts(), _vectors(file)
    queries = np.concatenate(list(_draw_blocks(_N_QUERIES, seed=2)))
    index.search(parts, vectors, queries[:1], _DEPTH)  # reads the index, and compares checksums
    started = time.process_time()
    first = index.search(parts, vectors, queries, _DEPTH).chunk[:, :_TOP]
    core_seconds = time.process_time() - started
    started = time.perf_counter()
    index.search(parts, vectors, queries[1:2], _DEPTH)
    return Searched(core_seconds, time.perf_counter() - started, first)


def _vectors(file: Path) -> NDArray[np.float32]:
    vectors: NDArray[np.float32] = np.load(file, mmap_mode="r")
    return vectors


def _draw_blocks(n: int, seed: int, size: int = 10_000) -> Iterator[NDArray[np.float32]]:
    centres = np.random.default_rng(0).standard_normal((_N_CENTRES, _N_DIMENSIONS), dtype=np.float32)
    random = np.random.default_rng(seed)
    for first in range(0, n, size):
        n_rows = min(size, n - first)
        noise = _SPREAD * random.standard_normal((n_rows, _N_DIMENSIONS), dtype=np.float32)
        block = centres[random.integers(_N_CENTRES, size=n_rows)] + noise
        yield block / np.linalg.norm(block, axis=1, keepdims=True)
