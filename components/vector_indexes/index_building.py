"""Tools for building an index of many vectors: a training sample, and a limit to one thread."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from components.loading import loading
from components.vector_indexes.mapped import read_rows_in_blocks

_SEED = 0


def sample_vectors(vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    """Return at most `n` of the vectors in their order. The selection is always the same."""
    if len(vectors) <= n:
        return np.ascontiguousarray(vectors)
    chosen = np.random.default_rng(_SEED).choice(len(vectors), n, replace=False)
    sample = np.empty((n, vectors.shape[1]), dtype=np.float32)
    first = 0
    for block in read_rows_in_blocks(vectors, np.sort(chosen)):
        sample[first : first + len(block)] = block
        first += len(block)
    return sample


@contextmanager
def one_thread() -> Iterator[None]:
    """Run FAISS on one thread within the context, so that equal vectors always lead to the same index."""
    with loading():
        import faiss

    n_threads = faiss.omp_get_max_threads()  # a setting of the process, restored below
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(n_threads)
