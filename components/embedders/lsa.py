"""Latent semantic analysis: a dense embedder without a download, and a weak replacement for a neural one."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.limits import too_small
from components.loading import loading
from components.protocols import EmbedderState, WordTokenizer
from components.records import Passages, Terms
from components.text.sparse_counts import count_matrix
from components.tokenizers.rjieba_words import RjiebaWords

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Lsa:
    """TF-IDF (1 + log tf, smoothed idf), projected onto the corpus's leading singular vectors, with unit length.

    It is fitted on whole documents, so that all chunkings of a corpus share one space. It uses terms in at least
    `min_documents` documents, and of these the `max_terms` most frequent. On Chinese news its recall is far below
    BM25's, so that fusing the two with equal weights is worse than BM25 alone.
    Source: Deerwester et al. 1990; randomised SVD of Halko et al. 2011 (scikit-learn).
    """

    n_dimensions: int = 128
    min_documents: int = 2
    max_terms: int = 50_000
    svd_seed: int = 0
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers below 1."""
        return too_small(self, n_dimensions=1, min_documents=1, max_terms=1)

    def max_dimensions(self) -> int:
        """Return `n_dimensions`; vectors of a small corpus have fewer."""
        return self.n_dimensions

    def fit(self, documents: Passages) -> EmbedderState:
        """Return `weights` float32[n_vocabulary] (idf; 0 for unused terms) and `projection` float32[n_vocabulary, d].

        d is smaller than `n_dimensions` if the corpus has fewer documents or terms. It is 1 if no term is in enough
        documents. All vectors are zero then.
        """
        with loading():
            from sklearn.utils.extmath import randomized_svd
            from threadpoolctl import threadpool_limits

        counts = count_matrix(_terms(documents))
        df = np.bincount(counts.indices, minlength=counts.shape[1])
        frequent = np.argsort(-df, kind="stable")[: self.max_terms]
        columns = np.sort(frequent[df[frequent] >= min(self.min_documents, counts.shape[0])])
        weights = np.zeros(counts.shape[1], dtype=np.float32)
        weights[columns] = np.log((1 + counts.shape[0]) / (1 + df[columns])) + 1
        n_dimensions = min(self.n_dimensions, counts.shape[0], len(columns))
        projection = np.zeros((counts.shape[1], max(n_dimensions, 1)), dtype=np.float32)
        if n_dimensions:
            weighted = _tf_idf(counts, weights)[:, columns]
            # For matrices this narrow, several threads take up to ten times as long, and change the last bits.
            with threadpool_limits(1, user_api="blas"):
                projection[columns] = randomized_svd(weighted, n_dimensions, random_state=self.svd_seed)[2].T
        return {"weights": weights, "projection": projection}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return float32[n_chunks, d], unit length; zero for a chunk without a known term."""
        return _unit_rows(_tf_idf(count_matrix(_terms(chunks)), state["weights"]) @ state["projection"])

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Return the vectors of queries; see `embed_chunks`."""
        return self.embed_chunks(queries, state)


def _terms(passages: Passages) -> Terms:
    assert passages.terms is not None, "the embedder has a tokenizer, so terms are filled"
    return passages.terms


def _tf_idf(counts: Any, weights: NDArray[np.float32]) -> Any:
    """Return (1 + log tf) * weight, with rows of unit length."""
    weighted = counts.copy()
    weighted.data = (1 + np.log(weighted.data)) * weights[weighted.indices]
    for first in range(0, weighted.shape[0], _ROWS_AT_ONCE):
        starts = weighted.indptr[first : first + _ROWS_AT_ONCE + 1]
        _normalize(weighted.data[starts[0] : starts[-1]], np.diff(starts))
    return weighted


def _normalize(values: NDArray[np.float32], row_sizes: NDArray[np.int32]) -> None:
    """Scale rows in place, bitwise equal to scikit-learn's `normalize` of a sparse matrix.

    Importing scikit-learn for this alone would delay the first answer by a second.
    """
    rows = np.repeat(np.arange(len(row_sizes)), row_sizes)
    lengths = np.sqrt(np.bincount(rows, values * values, minlength=len(row_sizes)))
    lengths[lengths == 0] = 1
    values /= lengths[rows]


def _unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    return unit.astype(np.float32)
