"""Search of vectors with one byte per dimension, rescored with the full vectors."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.protocols import Arrays
from components.records import Hits
from components.text.ranking import empty_hits
from components.vector_indexes.mapped import open_index, write_index
from components.vector_indexes.similarity import (
    BEYOND,
    first_stage_problems,
    rank,
    search_in_two_stages,
    shorten_blocks,
)


@dataclass(frozen=True)
class Int8:
    """Compares each query with every vector, reduced to one byte per dimension by FAISS's quantiser QT_8bit.

    The range of each dimension over all vectors is divided into 255 steps, and each value is replaced by the middle of
    its step. Queries are not quantised: the score of the first stage is their inner product with the decoded vectors.
    With `rescore`, the `oversampling` x depth best are ranked by the full vectors, with the scores of `Flat`.
    `dimensions` first shortens the vectors, as in `Truncated`; None uses all dimensions.
    """

    dimensions: int | None = None
    rescore: bool = True
    oversampling: float = 4.0

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        return first_stage_problems(self.dimensions, self.oversampling)

    @property
    def as_built(self) -> "Int8":
        """The index with default rescoring, which does not affect the codes."""
        return replace(self, rescore=Int8.rescore, oversampling=Int8.oversampling)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return `faiss`, the index in FAISS's file format, uint8, and `rows` int32, the positions of its vectors.

        Zero vectors are left out, because quantisation would change them and make them hits. Raises ComponentError if
        the vectors have fewer dimensions.
        """
        import faiss

        lows, highs, masks = [], [], []
        for block in shorten_blocks(vectors, self.dimensions):
            rows = block.any(axis=1)
            masks.append(rows)
            if rows.any():
                lows.append(block[rows].min(axis=0))
                highs.append(block[rows].max(axis=0))
        remaining_rows = np.flatnonzero(np.concatenate([*masks, np.zeros(0, dtype=bool)])).astype(np.int32)
        if not lows:
            return {"rows": remaining_rows}
        index = faiss.IndexScalarQuantizer(len(lows[0]), faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        # QT_8bit learns only the range of each dimension, so the ends of the ranges suffice.
        index.train(np.stack([np.min(lows, axis=0), np.max(highs, axis=0)]))
        for block, rows in zip(shorten_blocks(vectors, self.dimensions), masks, strict=True):
            index.add(block[rows])
        return {"faiss": write_index(place / "faiss.npy", index), "rows": remaining_rows}

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` nearest by the quantised vectors, or the best candidates after rescoring."""
        return search_in_two_stages(self, partial(self._first_stage, index), vectors, queries, depth)

    def _first_stage(self, index: Arrays, queries: NDArray[np.float32], depth: int) -> Hits:
        rows = np.asarray(index["rows"])
        if not len(rows) or not len(queries):
            return empty_hits(len(queries), depth)
        loaded = open_index(index["faiss"])
        score, positions = loaded.search(np.ascontiguousarray(queries), min(depth + BEYOND, loaded.ntotal))
        return rank(score, np.where(positions >= 0, rows[positions], -1), depth)
