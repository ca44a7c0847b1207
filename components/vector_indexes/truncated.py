"""Exact search by the first dimensions of vectors trained for shortening, rescored with the full vectors."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.protocols import Arrays
from components.records import Hits
from components.vector_indexes.exact import Device, device_problems
from components.vector_indexes.faiss_index import Flat
from components.vector_indexes.mapped import write_rows
from components.vector_indexes.similarity import (
    first_stage_problems,
    search_in_two_stages,
    shorten_blocks,
    shorten_vectors,
)


@dataclass(frozen=True)
class Truncated:
    """Compares the first `dimensions` of each query and of every vector, both scaled to unit length.

    It needs 4 x `dimensions` bytes per vector instead of 4 x d. With `rescore`, the `oversampling` x depth best are
    ranked by the full vectors, with the scores of `Flat`. Without it, scores are cosines of the first dimensions. None
    for `dimensions` equals the search of `Flat`.
    Source: Kusupati et al. 2022, "Matryoshka Representation Learning", adaptive retrieval.
    """

    dimensions: int | None = 64
    rescore: bool = True
    oversampling: float = 4.0
    device: Device = runtime_only(Device.AUTO, "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for a GPU if FAISS has no GPU support."""
        return [*first_stage_problems(self.dimensions, self.oversampling), *device_problems(self.device)]

    @property
    def as_built(self) -> "Truncated":
        """The index with default rescoring, which does not affect the first stage."""
        return replace(self, rescore=Truncated.rescore, oversampling=Truncated.oversampling)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return `vectors`, float32[n, dimensions]. Raises ComponentError if the vectors have fewer dimensions."""
        blocks = shorten_blocks(vectors, self.dimensions)
        n_dimensions = shorten_vectors(vectors[:0], self.dimensions).shape[1]
        return {"vectors": write_rows(place / "vectors.npy", blocks, n_dimensions)}

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` nearest by the first dimensions, or the best candidates after rescoring."""
        short = np.asarray(index["vectors"], dtype=np.float32)
        return search_in_two_stages(self, partial(Flat(self.device).search, {}, short), vectors, queries, depth)
