"""Encodings of texts: sparse vectors of token weights, and the outputs of models with several heads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = slice | NDArray[np.integer]


@dataclass(frozen=True)
class SparseVectors:
    """Sparse vectors of texts. Text i has the weights `weights[first[i]:last[i]]` in the dimensions
    `ids[first[i]:last[i]]`, and 0 in all others.

    Weights are float32 and positive. `ids` are int32, increasing within each text. `first` and `last` are
    int64[n_texts].
    """

    ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, chosen: Rows) -> "SparseVectors":
        """Return the chosen texts without copying weights."""
        return SparseVectors(self.ids, self.weights, self.first[chosen], self.last[chosen])


@dataclass(frozen=True)
class SparseEncodings:
    """The token weights of texts. Text i owns the weights `weight_offsets[i]` to `weight_offsets[i + 1]`; see
    SparseVectors. A blank text has none. Offsets are int64[n_texts + 1].
    """

    weight_ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    weight_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.weight_offsets) - 1

    @property
    def sparse(self) -> SparseVectors:
        """Return the token weights of all texts without copying them."""
        return SparseVectors(self.weight_ids, self.weights, self.weight_offsets[:-1], self.weight_offsets[1:])


@dataclass(frozen=True)
class MultiVectors:
    """Token vectors of texts. Text i has the vectors `vectors[first[i]:last[i]]`, float16[n, d] of unit length, in
    token order.

    `first` and `last` are int64[n_texts], non-decreasing for the texts of one encoding.
    """

    vectors: NDArray[np.float16]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, chosen: Rows) -> "MultiVectors":
        """Return the chosen texts without copying vectors."""
        return MultiVectors(self.vectors, self.first[chosen], self.last[chosen])


@dataclass(frozen=True)
class MultiEncodings:
    """The token vectors of texts. Text i owns the vectors `vector_offsets[i]` to `vector_offsets[i + 1]`; see
    MultiVectors. A blank text has none. Offsets are int64[n_texts + 1].
    """

    vectors: NDArray[np.float16]
    vector_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.vector_offsets) - 1

    @property
    def multi(self) -> MultiVectors:
        """Return the token vectors of all texts without copying them."""
        return MultiVectors(self.vectors, self.vector_offsets[:-1], self.vector_offsets[1:])


@dataclass(frozen=True)
class Encodings:
    """All encodings of texts from one pass of a model. A blank text has a zero vector and no tokens.

    `dense` is float32[n_texts, d] of unit length. Text i owns the token weights `weight_offsets[i]` to
    `weight_offsets[i + 1]` and the token vectors `vector_offsets[i]` to `vector_offsets[i + 1]`. Offsets are
    int64[n_texts + 1]. See SparseVectors and MultiVectors.
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
        """Return the token weights of all texts without copying them."""
        return SparseVectors(self.weight_ids, self.weights, self.weight_offsets[:-1], self.weight_offsets[1:])

    @property
    def multi(self) -> MultiVectors:
        """Return the token vectors of all texts without copying them."""
        return MultiVectors(self.vectors, self.vector_offsets[:-1], self.vector_offsets[1:])


WithTokenVectors = Encodings | MultiEncodings
"""Encodings with a vector for each token, as late interaction reads them."""
