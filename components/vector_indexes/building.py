"""What building an index of many vectors takes: a sample to learn from, and one thread."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from components.loading import loading
from components.vector_indexes.mapped import taken

_SEED = 0


def sampled(vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    """At most `n` of the vectors, in their order: the same ones whenever they are drawn."""
    if len(vectors) <= n:
        return np.ascontiguousarray(vectors)
    drawn = np.random.default_rng(_SEED).choice(len(vectors), n, replace=False)
    sample = np.empty((n, vectors.shape[1]), dtype=np.float32)
    first = 0
    for block in taken(vectors, np.sort(drawn)):
        sample[first : first + len(block)] = block
        first += len(block)
    return sample


@contextmanager
def one_thread() -> Iterator[None]:
    """FAISS works on one thread while the context lasts, so that the same vectors always give the same index."""
    with loading():
        import faiss

    n_threads = faiss.omp_get_max_threads()  # a setting of the whole process, put back below
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(n_threads)
