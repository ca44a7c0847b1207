"""Random vectors in clusters, like the vectors of texts on the same subjects."""

import numpy as np
from numpy.typing import NDArray


def clustered_vectors(
    n: int, n_dimensions: int = 64, n_clusters: int = 40, spread: float = 0.7, seed: int = 0
) -> NDArray[np.float32]:
    """Unit vectors around the same centres for every `seed`. Earlier dimensions weigh more."""
    weight = 1 / np.sqrt(1 + np.arange(n_dimensions) / 8)
    centres = np.random.default_rng(99).standard_normal((n_clusters, n_dimensions)) * weight
    random = np.random.default_rng(seed)
    vectors = centres[random.integers(n_clusters, size=n)] + spread * weight * random.standard_normal((n, n_dimensions))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def round_to_grid(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors near unit vectors with exact inner products, because their values are multiples of 1/512.

    Two kinds of search then find equal hits on any machine, in any order of summation.
    """
    return np.asarray(np.round(vectors * 512) / 512, dtype=np.float32)
