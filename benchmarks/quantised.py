"""Truncated, int8 and binary vectors compared with full ones: bytes per vector, time per query, and share of found
hits.

The vectors are random: unit vectors of 1,024 dimensions around 2,000 centres, in which earlier dimensions have more
weight, as in models trained for truncation. This does not affect bytes and times, but it affects the share of found
hits.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.protocols import Arrays, VectorIndex
from components.vector_indexes.binary import Binary
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.int8 import Int8
from components.vector_indexes.truncated import Truncated

_N_DIMENSIONS, _N_CENTRES, _SPREAD, _DEPTH, _TOP = 1024, 2000, 0.8, 100, 10
_MAX_QUERIES = 500

_INDEXES: dict[str, Truncated | Int8 | Binary] = {
    "truncated to 256": Truncated(256),
    "int8": Int8(),
    "int8, truncated to 256": Int8(256),
    "binary": Binary(),
}
"""Indexes to measure with rescoring and without."""


@dataclass(frozen=True)
class Searched:
    """Results of an index, in seconds of one core.

    `share_found` is the share of the first ten hits of an exact search that are among the first ten.
    """

    bytes_per_vector: float
    core_seconds_per_query: float
    share_found: float


def measure(settings: Settings) -> list[Measure]:
    """Measure all indexes over the same vectors, in one process."""
    found = in_child(compare, settings).value
    exact = found.pop("flat")
    measures = []
    for name, searched in found.items():
        own, flat = searched.core_seconds_per_query, exact.core_seconds_per_query
        times = f"{own * 1000:.2f} ms / {flat * 1000:.2f} ms of one core per query"
        sizes = f"{searched.bytes_per_vector:.0f} / {exact.bytes_per_vector:.0f} bytes per vector"
        bound = Bound(0.95, at_least=True) if name.endswith("rescored") else None
        measures.append(Measure(f"{name}: time", own / flat, "x", f"{times}; {sizes}"))
        measures.append(Measure(f"{name}: found", searched.share_found, "share", "of flat's first ten", bound))
    return measures


def compare(settings: Settings) -> dict[str, Searched]:
    """Build and search every index."""
    vectors = _draw(settings.scale.n_chunks, seed=1)
    queries = _draw(min(settings.scale.n_queries, _MAX_QUERIES), seed=2)
    flat, first = _time_search(Flat(), {}, vectors, queries, np.zeros((len(queries), 0), dtype=np.int32))
    found = {"flat": replace(flat, bytes_per_vector=float(vectors.itemsize * _N_DIMENSIONS), share_found=1.0)}
    for name, index in _INDEXES.items():
        with TemporaryDirectory() as place:
            built = index.build(vectors, Path(place))
        found[f"{name}, rescored"], _ = _time_search(index, built, vectors, queries, first)
        found[name], _ = _time_search(replace(index, rescore=False), built, vectors, queries, first)
    return found


def _time_search(
    index: VectorIndex,
    built: Arrays,
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    exact: NDArray[np.int32],
) -> tuple[Searched, NDArray[np.int32]]:
    """Return the time of all queries together, as a stage searches, and the first ten hits of each."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # seconds of one core do not depend on other work of the machine
        started = time.process_time()
        first = index.search(built, vectors, queries, _DEPTH).chunk[:, :_TOP]
        seconds = (time.process_time() - started) / len(queries)
    shared = sum(len(np.intersect1d(own, best)) for own, best in zip(first, exact, strict=True))
    n_bytes = sum(array.nbytes for array in built.values()) / len(vectors)
    return Searched(n_bytes, seconds, shared / max(exact.size, 1)), first


def _draw(n: int, seed: int) -> NDArray[np.float32]:
    return np.concatenate(list(_draw_blocks(n, seed)))


def _draw_blocks(n: int, seed: int, size: int = 10_000) -> Iterator[NDArray[np.float32]]:
    weight = (1 / np.sqrt(1 + np.arange(_N_DIMENSIONS) / 256)).astype(np.float32)
    centres = np.random.default_rng(0).standard_normal((_N_CENTRES, _N_DIMENSIONS), dtype=np.float32)
    random = np.random.default_rng(seed)
    for first in range(0, n, size):
        n_rows = min(size, n - first)
        noise = _SPREAD * random.standard_normal((n_rows, _N_DIMENSIONS), dtype=np.float32)
        block = (centres[random.integers(_N_CENTRES, size=n_rows)] + noise) * weight
        yield block / np.linalg.norm(block, axis=1, keepdims=True)
