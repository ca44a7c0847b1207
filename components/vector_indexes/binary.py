"""Search of vectors with one bit per dimension, rescored with the full vectors."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.protocols import Arrays
from components.records import Hits
from components.text.ranking import empty_hits, sort_hits
from components.vector_indexes.similarity import (
    first_stage_problems,
    search_in_two_stages,
    shorten_blocks,
    shorten_vectors,
)


@dataclass(frozen=True)
class Binary:
    """Compares each query with every vector, both reduced to one bit per dimension: the sign.

    FAISS counts the bits in which two vectors differ (the Hamming distance). The score of the first stage is
    1 - 2 x distance / dimensions, the cosine of the two sign vectors. With `rescore`, the `oversampling` x depth best
    are ranked by the full vectors, with the scores of `Flat`. Without it, many chunks tie. `dimensions` first shortens
    the vectors, as in `Truncated`; None uses all dimensions.
    """

    dimensions: int | None = None
    rescore: bool = True
    oversampling: float = 8.0

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        return first_stage_problems(self.dimensions, self.oversampling)

    @property
    def as_built(self) -> "Binary":
        """The index with default rescoring, which does not affect the bits."""
        return replace(self, rescore=Binary.rescore, oversampling=Binary.oversampling)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return `bits` uint8[n_rows, ceil(dimensions / 8)], and `rows` int32, the positions of their vectors.

        Zero vectors have no signs, and are left out. Raises ComponentError if the vectors have fewer dimensions.
        """
        bits, masks = [], []
        for block in shorten_blocks(vectors, self.dimensions):
            rows = block.any(axis=1)
            masks.append(rows)
            bits.append(_bits(block[rows]))
        nothing = _bits(shorten_vectors(vectors[:0], self.dimensions))
        return {
            "bits": np.concatenate([*bits, nothing]),
            "rows": np.flatnonzero(np.concatenate([*masks, np.zeros(0, dtype=bool)])).astype(np.int32),
        }

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` nearest by sign, or the best candidates after rescoring."""
        return search_in_two_stages(self, partial(self._first_stage, index), vectors, queries, depth)

    def _first_stage(self, index: Arrays, queries: NDArray[np.float32], depth: int) -> Hits:
        import faiss

        rows, hits = np.asarray(index["rows"]), empty_hits(len(queries), depth)
        query_rows = np.flatnonzero(queries.any(axis=1))
        if not len(rows) or not len(query_rows):
            return hits
        # The variant with heaps keeps the first of several at one distance, so ties break by position.
        distance, positions = faiss.knn_hamming(
            _bits(queries[query_rows]), np.ascontiguousarray(index["bits"]), min(depth, len(rows)), variant="hc"
        )
        score = (1 - 2 * distance / queries.shape[1]).astype(np.float32)
        ordered = sort_hits(rows[positions].astype(np.int32), score, depth)
        hits.chunk[query_rows], hits.score[query_rows] = ordered.chunk, ordered.score
        return hits


def _bits(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return uint8[n, ceil(d / 8)]. Padding bits are zero in all vectors, and add no distance."""
    return np.packbits(vectors > 0, axis=1)
