"""A reranker without a model, which scores how much of the query a chunk covers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.protocols import WordTokenizer
from components.records import Passages, Terms
from components.text.sparse_counts import count_matrix, inverse_document_frequency
from components.tokenizers.rjieba_words import RjiebaWords

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Rows = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True)
class LexicalCoverage:
    """Scores a chunk by the IDF-weighted share of the query's distinct terms that it contains.

    It is mixed with the share of the query's distinct bigrams (pairs of consecutive terms) by `bigram_weight`. Scores
    are in [0, 1]. Unlike BM25 it does not reward repetition, but depends on word order. It scores `depth` hits per
    query.
    """

    depth: int = 100
    bigram_weight: float = 0.4
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = (
            [] if self.depth >= 1 else [f"depth: got {self.depth}, expected at least 1 (for none, use reranker=none)"]
        )
        if not 0 <= self.bigram_weight <= 1:
            problems.append(f"bigram_weight: got {self.bigram_weight}, expected a share in [0, 1]")
        return problems

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs]; 0 for a query without a known term."""
        assert queries.terms is not None, "the reranker has a tokenizer, so terms are filled"
        assert chunks.terms is not None, "the reranker has a tokenizer, so terms are filled"
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        idf = inverse_document_frequency(count_matrix(chunks.terms))
        needed, chunk_row = np.unique(pairs[:, 1], return_inverse=True)
        candidates = Terms(chunks.terms.ids, chunks.terms.first[needed], chunks.terms.last[needed], len(idf))
        rows = (pairs[:, 0], chunk_row)
        terms = _coverage(count_matrix(queries.terms), count_matrix(candidates), idf, rows)
        bigrams = _bigram_coverage(queries.terms, candidates, idf, rows)
        return ((1 - self.bigram_weight) * terms + self.bigram_weight * bigrams).astype(np.float32)


def _coverage(
    queries: "csr_matrix", chunks: "csr_matrix", weights: NDArray[np.float64], rows: tuple[Rows, Rows]
) -> NDArray[np.float64]:
    """Return, for every pair of rows, the weight of shared terms divided by the weight of the query."""
    queries, chunks = queries.copy(), chunks.copy()
    queries.data = weights[queries.indices]
    chunks.data = np.ones(len(chunks.indices))
    total = np.asarray(queries.sum(axis=1)).ravel()[rows[0]]
    # Process pairs in blocks: the rows of all pairs would hold a copy of each chunk for each of its queries.
    shared = np.concatenate(
        [
            np.asarray(queries[q].multiply(chunks[c]).sum(axis=1)).ravel()
            for q, c in zip(_blocks(rows[0]), _blocks(rows[1]), strict=True)
        ]
    )
    share: NDArray[np.float64] = np.divide(shared, total, out=np.zeros(len(shared)), where=total > 0)
    return share


def _blocks(rows: Rows, size: int = 20_000) -> list[Rows]:
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def _bigram_coverage(
    queries: Terms, chunks: Terms, idf: NDArray[np.float64], rows: tuple[Rows, Rows]
) -> NDArray[np.float64]:
    """Return `_coverage` over the bigrams of the queries. A bigram weighs as much as its two terms together."""
    query_ids, query_lengths = _bigrams(queries)
    vocabulary = np.unique(query_ids)
    if not len(vocabulary):
        return np.zeros(len(rows[0]))
    weights = idf[vocabulary // queries.n_vocabulary] + idf[vocabulary % queries.n_vocabulary]
    return _coverage(
        _count_known(query_ids, query_lengths, vocabulary), _count_known(*_bigrams(chunks), vocabulary), weights, rows
    )


def _bigrams(terms: Terms) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bigrams of all passages as first * n_vocabulary + second, and their number per passage."""
    lengths = np.maximum(terms.last - terms.first - 1, 0)
    position = np.arange(lengths.sum()) + np.repeat(terms.first - (np.cumsum(lengths) - lengths), lengths)
    return terms.ids[position].astype(np.int64) * terms.n_vocabulary + terms.ids[position + 1], lengths


def _count_known(ids: NDArray[np.int64], lengths: NDArray[np.int64], vocabulary: NDArray[np.int64]) -> "csr_matrix":
    """Return a count matrix over the sorted `vocabulary` ids; other ids are ignored."""
    index = np.minimum(np.searchsorted(vocabulary, ids), len(vocabulary) - 1)
    is_known = vocabulary[index] == ids
    n_known_before = np.concatenate([[0], np.cumsum(is_known)])
    ends = np.cumsum(lengths)
    return count_matrix(
        Terms(index[is_known].astype(np.int32), n_known_before[ends - lengths], n_known_before[ends], len(vocabulary))
    )
