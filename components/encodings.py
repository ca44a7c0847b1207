"""Texts as models with several heads encode them: one vector, a weight per token, and a vector per token."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = slice | NDArray[np.integer]


@dataclass(frozen=True)
class SparseVectors:
    """Text i has the weights `weights[first[i]:last[i]]`, float32 and above 0, at the dimensions `ids` (int32,
    increasing within a text). All other dimensions are 0. `first`, `last` int64[n_texts].
    """

    ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, chosen: Rows) -> "SparseVectors":
        """Some of the texts; copies no weight."""
        return SparseVectors(self.ids, self.weights, self.first[chosen], self.last[chosen])


@dataclass(frozen=True)
class MultiVectors:
    """Text i has the vectors `vectors[first[i]:last[i]]`, float16[n, d] of unit length, in the order of its tokens.
    `first`, `last` int64[n_texts], non-decreasing for the texts of one encoding.
    """

    vectors: NDArray[np.float16]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, chosen: Rows) -> "MultiVectors":
        """Some of the texts; copies no vector."""
        return MultiVectors(self.vectors, self.first[chosen], self.last[chosen])


@dataclass(frozen=True)
class Encodings:
    """What one pass of a model makes of texts; nothing (zeros, no token) of blank ones.

    `dense` float32[n_texts, d], unit length. Text i owns the token weights `weight_offsets[i]` to
    `weight_offsets[i + 1]` and the token vectors `vector_offsets[i]` to `vector_offsets[i + 1]` (int64[n_texts + 1]):
    see SparseVectors and MultiVectors.
    """

    dense: NDArray[np.float32]
    weight_ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    weight_offsets: NDArray[np.int64]
    vectors: NDArray[np.float16]
    vector_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.dense)

    @property
    def sparse(self) -> SparseVectors:
        """The weights of tokens."""
        return SparseVectors(self.weight_ids, self.weights, self.weight_offsets[:-1], self.weight_offsets[1:])

    @property
    def multi(self) -> MultiVectors:
        """The vectors of tokens."""
        return MultiVectors(self.vectors, self.vector_offsets[:-1], self.vector_offsets[1:])
