"""Pairs of phrases with similar vectors."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.text.ranking import best_columns

_CELLS_AT_ONCE = 1 << 24
"""Maximum number of similarities in memory: 64 MiB."""

_RESOLUTION = 6
"""Decimals of a similarity: BLAS sums in varying order."""


class Synonyms(NamedTuple):
    """Pairs of phrases, `one` before `other`, int32, each once and sorted. `cosine` is float32."""

    one: NDArray[np.int32]
    other: NDArray[np.int32]
    cosine: NDArray[np.float32]


def synonyms(vectors: NDArray[np.float32], threshold: float, max_synonyms: int) -> Synonyms:
    """Return the pairs whose cosine is at least `threshold`.

    Each phrase proposes its `max_synonyms` nearest ones, and a pair counts if one of the two proposes it. A zero vector
    is near nothing. All pairs are compared, in blocks.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    cosines = [np.zeros(0, dtype=np.float32)]
    n_rows = max(_CELLS_AT_ONCE // max(len(unit), 1), 1)
    for first in range(0, len(unit), n_rows):
        cosine = (unit[first : first + n_rows] @ unit.T).round(_RESOLUTION)
        rows = np.arange(len(cosine))
        cosine[rows, first + rows] = -np.inf
        nearest = best_columns(np.where(cosine >= threshold, cosine, -np.inf), max_synonyms)
        row, column = np.nonzero(nearest.chunk >= 0)
        pairs.append(np.sort(np.stack([first + row, nearest.chunk[row, column].astype(np.int64)], axis=1), axis=1))
        cosines.append(nearest.score[row, column])
    distinct, index = np.unique(np.concatenate(pairs), axis=0, return_index=True)
    one, other = distinct.astype(np.int32).T
    return Synonyms(np.ascontiguousarray(one), np.ascontiguousarray(other), np.concatenate(cosines)[index])
