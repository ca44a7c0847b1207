"""BM25 over the terms of chunks, by a precomputed sparse matrix, or by rank_bm25 for parity with older pipelines.

Large searches use the compiled search of bm25s if the extra `fast` is installed. Its hits are the same.
"""

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError, MissingExtraError
from components.fields import runtime_only
from components.loading import loading
from components.protocols import Arrays, WordTokenizer
from components.records import Hits, IndexBlock, Passages, Terms
from components.text.ranking import empty_hits, merge_best, select_best
from components.text.sparse_counts import count_matrix
from components.threads import n_threads
from components.tokenizers.rjieba_words import RjiebaWords

_COMPILED_FROM = 1_000_000_000
"""Chunks x queries from which bm25s's compiled search is faster, including compilation time."""

_COMPILED_NEEDS = "numba"

_MAX_K1 = 1_000_000
"""Largest `k1`. Scores are linear in term counts long before it, and float32 overflows long after it."""

Found = Iterable[tuple[int, tuple[NDArray[np.int32], NDArray[np.float32]]]]
"""Queries with the chunks found for them, and their scores."""

_MISSING = MissingExtraError("rank-bm25", "parity", "retriever.sparse_index.backend=rank_bm25")


class Formula(StrEnum):
    """The formula for the weight of a term.

    LUCENE has no negative weights. OKAPI is Robertson's formula. It equals the formula of rank_bm25 for words in fewer
    than half of the chunks. More frequent words weigh 0 here, and have a minimum weight in rank_bm25.
    """

    LUCENE = "lucene"
    OKAPI = "okapi"


class Backend(StrEnum):
    """Search implementations. BM25S uses a precomputed sparse matrix, like the package bm25s.

    RANK_BM25 is plain Python and hundreds of times slower.
    """

    BM25S = "bm25s"
    RANK_BM25 = "rank_bm25"


@dataclass(frozen=True)
class Bm25:
    """BM25 (Robertson et al. 1995) with the usual k1 and b. Chunks with a score of zero are not hits; ties break by
    position.

    Raises ComponentError if more than `max_share_without_hits` of the queries have no hit, which nearly always means
    that the tokenizer does not fit the language.
    """

    k1: float = 1.5
    b: float = 0.75
    formula: Formula = Formula.LUCENE
    backend: Backend = Backend.BM25S
    max_share_without_hits: float = runtime_only(0.2, "it can fail a search, and changes no hits")
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 2

    @property
    def as_built(self) -> "Bm25":
        """The index with default weights: an index counts terms, and the search weights them."""
        return Bm25(backend=self.backend, formula=Formula.OKAPI, tokenizer=self.tokenizer)

    @property
    def is_blockwise(self) -> bool:
        """True for bm25s. rank_bm25 computes its own weights, and needs all chunks for them."""
        return self.backend is Backend.BM25S

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for a formula or a package that the backend lacks."""
        problems = []
        if not 0 <= self.k1 <= _MAX_K1:
            problems.append(f"k1: got {self.k1}, expected a number in [0, {_MAX_K1:,}]")
        if not 0 <= self.b <= 1:
            problems.append(f"b: got {self.b}, expected a number in [0, 1]")
        if not 0 <= self.max_share_without_hits <= 1:
            problems.append(f"max_share_without_hits: got {self.max_share_without_hits}, expected a share in [0, 1]")
        if self.backend is Backend.RANK_BM25 and self.formula is not Formula.OKAPI:
            problems.append("formula: backend rank_bm25 supports only okapi. Set formula=okapi.")
        if self.backend is Backend.RANK_BM25 and importlib.util.find_spec("rank_bm25") is None:
            problems.append(f"backend: {_MISSING}")
        return problems

    def build(self, chunks: Passages) -> Arrays:
        """Return the terms of the chunks.

        For bm25s these are the counts of each term as CSC arrays `counts`, `indices` and `indptr`, and the numbers of
        terms per chunk, `lengths`. For rank_bm25 they are the terms of the chunks, `ids` and `offsets`.
        """
        terms = _terms(chunks)
        if self.backend is Backend.RANK_BM25:
            rows = [terms.row(i) for i in range(len(terms))]
            return {
                "ids": np.concatenate([*rows, np.zeros(0, dtype=np.int32)]),
                "offsets": np.cumsum([0, *map(len, rows)]),
            }
        counts = count_matrix(terms).tocsc()
        largest = int(counts.data.max(initial=0))
        return {
            "counts": counts.data.astype(np.min_scalar_type(largest)),
            "indices": counts.indices.astype(np.int32),
            "indptr": counts.indptr.astype(np.int64),
            "lengths": (terms.last - terms.first).astype(np.int32),
        }

    def search(self, blocks: Sequence[IndexBlock], queries: Passages, depth: int) -> Hits:
        """Return the `depth` best chunks with a score above zero. Weights of terms cover all blocks together, so that
        hits do not depend on the division into blocks.
        """
        terms = _terms(queries)
        n_chunks = sum(len(block.positions) for block in blocks)
        depth = min(depth, n_chunks)
        hits = empty_hits(len(queries), depth)
        weighing = self._weigh_terms(blocks, n_chunks, terms.n_vocabulary) if self.is_blockwise else None
        query_rows = [i for i in range(len(terms)) if len(terms.row(i))]  # a query of stop words only has no hits
        is_large = n_chunks * len(query_rows) >= _COMPILED_FROM
        is_compiled = is_large and importlib.util.find_spec(_COMPILED_NEEDS) is not None
        for block in blocks:
            if weighing is None:
                scored = _rank_bm25(self, block, terms, query_rows)
                block_hits: Found = ((i, select_best(scores, depth)) for i, scores in scored)
            else:
                weights = weighing.weights(block)
                n_best = min(depth, len(block.positions))
                if is_compiled:
                    block_hits = _search_compiled(weights, terms, query_rows, n_best)
                else:
                    block_hits = ((i, select_best(_dense_scores(weights, terms.row(i)), n_best)) for i in query_rows)
            found_hits = empty_hits(len(queries), depth)
            for query, (chunk, score) in block_hits:
                found_hits.chunk[query, : len(chunk)] = block.positions[chunk]
                found_hits.score[query, : len(score)] = score
            hits = found_hits if len(blocks) == 1 else merge_best(hits, found_hits)
        self._check_hits(hits, queries)
        return hits

    def _weigh_terms(self, blocks: Sequence[IndexBlock], n_chunks: int, n_terms: int) -> "_TermWeights":
        """Return the weights of the queries' terms, computed in float64."""
        document_frequency = np.zeros(n_terms, dtype=np.int64)
        n_words = 0
        for block in blocks:
            is_known = block.term_ids >= 0
            document_frequency[is_known] += np.diff(block.index["indptr"])[block.term_ids[is_known]]
            n_words += int(block.index["lengths"].sum(dtype=np.int64))
        odds = (n_chunks - document_frequency + 0.5) / (document_frequency + 0.5)
        # For a word in more than half of the chunks, Okapi's negative idf would penalize matches.
        idf = np.log1p(odds) if self.formula is Formula.LUCENE else np.maximum(np.log(odds), 0)
        if self.formula is Formula.OKAPI:  # a constant factor that Lucene omits, since it changes no ranking
            idf *= self.k1 + 1
        return _TermWeights(self.k1, self.b, idf, n_words / max(n_chunks, 1))

    def _check_hits(self, hits: Hits, queries: Passages) -> None:
        without = np.flatnonzero((hits.chunk < 0).all(axis=1))
        if len(without) > self.max_share_without_hits * len(queries):
            raise ComponentError(
                f"bm25: {len(without)} of {len(queries)} queries have no hit, e.g. "
                f"{queries.texts[int(without[0])][:60]!r}, expected at most "
                f"{self.max_share_without_hits:.0%}. The tokenizer ({type(self.tokenizer).__name__}) may not fit the "
                "language. Set language=en for English, zh for Chinese, multi for several in one corpus. If such "
                "queries are expected, set max_share_without_hits=1 of this index (retriever.sparse_index, or "
                "retriever.searches.NAME.sparse_index)."
            )


def _terms(passages: Passages) -> Terms:
    assert passages.terms is not None, "the index has a tokenizer, so terms are filled"
    return passages.terms


@dataclass(frozen=True)
class _TermWeights:
    """The weights of terms. `idf` is float64[n_query_terms]; `mean_length` is the mean number of terms per chunk."""

    k1: float
    b: float
    idf: NDArray[np.float64]
    mean_length: float

    def weights(self, block: IndexBlock) -> Arrays:
        """Return the contribution of each query term to the scores of chunks.

        CSC arrays `data` float32, `indices` and `indptr` with a column per term, and `n_chunks` [1].
        """
        all_counts, all_indices = block.index["counts"], block.index["indices"]  # read once: they may be in files
        lengths = block.index["lengths"].astype(np.float64)
        saturation = (self.k1 * (1 - self.b + self.b * lengths / max(self.mean_length, 1e-9))).astype(np.float32)
        indptr, known_terms = np.asarray(block.index["indptr"]), np.flatnonzero(block.term_ids >= 0)
        first, last = (indptr[block.term_ids[known_terms] + shift] for shift in (0, 1))
        n_postings = np.zeros(len(block.term_ids), dtype=np.int64)
        n_postings[known_terms] = last - first
        offsets = np.concatenate([[0], np.cumsum(n_postings)])
        data, indices = np.empty(offsets[-1], dtype=np.float32), np.empty(offsets[-1], dtype=np.int32)
        idf = self.idf.astype(np.float32)
        for term, start, end in zip(known_terms.tolist(), first.tolist(), last.tolist(), strict=True):
            span = slice(offsets[term], offsets[term + 1])
            indices[span] = all_indices[start:end]
            counts = all_counts[start:end].astype(np.float32)
            data[span] = counts / (counts + saturation[indices[span]]) * idf[term]
        return {"data": data, "indices": indices, "indptr": offsets, "n_chunks": np.array([len(block.positions)])}


def _dense_scores(weights: Arrays, query: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the score of every chunk for one query."""
    data, indices, indptr = weights["data"], weights["indices"], weights["indptr"]
    scores = np.zeros(int(weights["n_chunks"][0]), dtype=np.float32)
    for term in query.tolist():
        postings = slice(indptr[term], indptr[term + 1])
        scores[indices[postings]] += data[postings]
    return scores


def _search_compiled(
    index: Arrays, queries: Terms, query_rows: list[int], depth: int
) -> Iterator[tuple[int, tuple[NDArray[np.int32], NDArray[np.float32]]]]:
    """Search our matrix with bm25s.

    It returns arbitrary chunks among those that tie at the last place. We therefore request one more hit, and search
    rows with such a tie again with our exact code.
    """
    with loading():
        import bm25s

    n_chunks = int(index["n_chunks"][0])
    n_retrieved = min(depth + 1, n_chunks)
    search = bm25s.BM25(backend="numba")
    search.scores = {**{name: np.asarray(index[name]) for name in ("data", "indices", "indptr")}, "num_docs": n_chunks}
    # Attributes that its `index` would have set. The scores are ours, and terms are numbers, so there is no vocabulary.
    search.nonoccurrence_array = None
    search.vocab_dict = {}
    search.unique_token_ids_set = range(queries.n_vocabulary)
    rows = [queries.row(i).tolist() for i in query_rows]
    retrieved = search.retrieve(rows, k=n_retrieved, show_progress=False, n_threads=n_threads())
    for i, chunk, score in zip(query_rows, retrieved.documents, retrieved.scores, strict=True):
        if n_retrieved > depth and score[depth] == score[depth - 1] > 0:
            yield i, select_best(_dense_scores(index, queries.row(i)), depth)
        else:
            order = np.lexsort((chunk, -score))[:depth]
            order = order[score[order] > 0]
            yield i, (chunk[order], score[order])


def _rank_bm25(
    settings: Bm25, block: IndexBlock, queries: Terms, query_rows: list[int]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    try:
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise _MISSING from error
    index = block.index
    ids = index["ids"].tolist()
    if not ids or not query_rows:
        return  # without words, rank_bm25 would divide by zero
    okapi = BM25Okapi([ids[a:b] for a, b in pairwise(index["offsets"].tolist())], k1=settings.k1, b=settings.b)
    for i in query_rows:
        term_ids = block.term_ids[queries.row(i)]
        yield i, okapi.get_scores(term_ids[term_ids >= 0].tolist()).astype(np.float32)
