"""Passages as rows of a sparse count matrix."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.records import Terms

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_ROWS_PER_BLOCK = 50_000


def count_matrix(terms: Terms) -> "csr_matrix":
    """Return a SciPy CSR matrix of term counts, float32[n_passages, n_vocabulary]: indices sorted, no explicit zeros.

    It is built in blocks of rows, so that overlapping passages never form one long list of terms.
    """
    from scipy import sparse

    blocks = [_block(terms, first, first + _ROWS_PER_BLOCK) for first in range(0, len(terms), _ROWS_PER_BLOCK)]
    if not blocks:
        return sparse.csr_matrix((0, terms.n_vocabulary), dtype=np.float32)
    return sparse.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]


def _block(terms: Terms, first_row: int, last_row: int) -> "csr_matrix":
    from scipy import sparse

    first, last = terms.first[first_row:last_row], terms.last[first_row:last_row]
    lengths = last - first
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    positions = np.arange(indptr[-1]) + np.repeat(first - indptr[:-1], lengths)
    indices = terms.ids[positions]
    counts = sparse.csr_matrix(
        (np.ones(len(indices), dtype=np.float32), indices, indptr), shape=(len(first), terms.n_vocabulary)
    )
    counts.sum_duplicates()
    return counts


def inverse_document_frequency(counts: "csr_matrix") -> NDArray[np.float64]:
    """Return Lucene's inverse document frequency, float64[n_vocabulary], never negative.

    It is log(1 + (N - df + 0.5) / (df + 0.5)).
    """
    df = np.bincount(counts.indices, minlength=counts.shape[1])
    idf: NDArray[np.float64] = np.log1p((counts.shape[0] - df + 0.5) / (df + 0.5))
    return idf
