"""BM25 over the terms of chunks: bm25s, or rank_bm25 for parity with older pipelines."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError, MissingExtraError
from components.fields import runtime_only
from components.loading import loading
from components.protocols import Arrays, WordTokenizer
from components.records import Hits, Passages, Terms
from components.text.counts import count_matrix
from components.text.ranking import best_of, empty_hits
from components.threads import n_threads
from components.tokenizers.rjieba_words import RjiebaWords

_COMPILED_FROM = 1_000_000_000
"""Chunks x queries from which on bm25s's compiled search makes up for the seconds that compiling it takes."""

_MISSING = MissingExtraError("rank-bm25", "parity", "retriever.sparse_index.backend=rank_bm25")


class Formula(StrEnum):
    """LUCENE never gives a negative weight. OKAPI is Robertson's formula, equal to rank_bm25's for words in fewer than
    half of the chunks; more frequent ones weigh 0 here, and have a floor there.
    """

    LUCENE = "lucene"
    OKAPI = "okapi"


class Backend(StrEnum):
    """BM25S searches a precomputed sparse matrix; RANK_BM25 is the Python package, hundreds of times slower."""

    BM25S = "bm25s"
    RANK_BM25 = "rank_bm25"


@dataclass(frozen=True)
class Bm25:
    """Robertson et al. 1995 with the usual k1 and b. Hits with a score of zero are dropped; ties break by position.

    Raises ComponentError if more than `max_share_without_hits` of the queries find nothing at all, which nearly always
    means that the tokenizer does not fit the language.
    """

    k1: float = 1.5
    b: float = 0.75
    formula: Formula = Formula.LUCENE
    backend: Backend = Backend.BM25S
    max_share_without_hits: float = runtime_only(0.2, "an alarm: it fails a search, and changes none that it passes")
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Numbers out of range, and a formula that the backend does not have."""
        mistakes = []
        if self.k1 < 0:
            mistakes.append(f"k1: got {self.k1}, wanted at least 0")
        if not 0 <= self.b <= 1:
            mistakes.append(f"b: got {self.b}, wanted a number in [0, 1]")
        if not 0 <= self.max_share_without_hits <= 1:
            mistakes.append(f"max_share_without_hits: got {self.max_share_without_hits}, wanted a share in [0, 1]")
        if self.backend is Backend.RANK_BM25 and self.formula is not Formula.OKAPI:
            mistakes.append("formula: backend rank_bm25 knows only okapi; set formula=okapi")
        if self.backend is Backend.RANK_BM25 and importlib.util.find_spec("rank_bm25") is None:
            mistakes.append(f"backend: {_MISSING}")
        return mistakes

    def build(self, chunks: Passages) -> Arrays:
        """For bm25s the scores of all (chunk, term) pairs as CSC arrays `data`, `indices`, `indptr`, and `n_chunks`
        [1]; for rank_bm25 the chunks' terms, `ids` and `offsets`.
        """
        terms = _terms(chunks)
        if self.backend is Backend.RANK_BM25:
            rows = [terms.row(i) for i in range(len(terms))]
            return {
                "ids": np.concatenate([*rows, np.zeros(0, dtype=np.int32)]),
                "offsets": np.cumsum([0, *map(len, rows)]),
            }
        scores = self._scores(count_matrix(terms)).tocsc()
        return {
            "data": scores.data,
            "indices": scores.indices.astype(np.int32),
            "indptr": scores.indptr.astype(np.int64),
            "n_chunks": np.array([scores.shape[0]], dtype=np.int64),
        }

    def search(self, index: Arrays, queries: Passages, depth: int) -> Hits:
        """The `depth` best chunks with a score above zero."""
        terms = _terms(queries)
        depth = min(depth, self._n_chunks(index))
        hits = empty_hits(len(queries), depth)
        for query, (chunk, score) in self._found(index, terms, depth):
            hits.chunk[query, : len(chunk)] = chunk
            hits.score[query, : len(score)] = score
        self._check_hits(hits, queries)
        return hits

    def _n_chunks(self, index: Arrays) -> int:
        return len(index["offsets"]) - 1 if self.backend is Backend.RANK_BM25 else int(index["n_chunks"][0])

    def _scores(self, counts: Any) -> Any:
        """The matrix of counts, turned into BM25 scores in place."""
        n_chunks = counts.shape[0]
        df = np.bincount(counts.indices, minlength=counts.shape[1])
        odds = (n_chunks - df + 0.5) / (df + 0.5)
        # Below 0, where a word is in more than half of the chunks, Okapi's idf would punish chunks for matching.
        idf = np.log1p(odds) if self.formula is Formula.LUCENE else np.maximum(np.log(odds), 0)
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        saturation = self.k1 * (1 - self.b + self.b * lengths / max(lengths.mean() if n_chunks else 0, 1e-9))
        # In place: this is the largest array of the index, and copies of it would set the peak memory.
        tf = counts.data
        tf /= tf + np.repeat(saturation, np.diff(counts.indptr)).astype(np.float32)
        tf *= idf.astype(np.float32)[counts.indices]
        if self.formula is Formula.OKAPI:  # a constant factor, which Lucene leaves out: it changes no ranking
            tf *= np.float32(self.k1 + 1)
        return counts

    def _found(self, index: Arrays, queries: Terms, depth: int) -> Iterator[tuple[int, tuple[Any, Any]]]:
        asked = [i for i in range(len(queries)) if len(queries.row(i))]  # a query of stop words alone finds nothing
        if self.backend is Backend.RANK_BM25:
            return ((i, best_of(scores, depth)) for i, scores in _rank_bm25(self, index, queries, asked))
        if self._n_chunks(index) * len(asked) < _COMPILED_FROM:
            return ((i, best_of(_dense_scores(index, queries.row(i)), depth)) for i in asked)
        return _compiled(index, queries, asked, depth)

    def _check_hits(self, hits: Hits, queries: Passages) -> None:
        without = np.flatnonzero((hits.chunk < 0).all(axis=1))
        if len(without) > self.max_share_without_hits * len(queries):
            raise ComponentError(
                f"bm25: {len(without)} of {len(queries)} queries have no hit at all, "
                f"e.g. {queries.texts[int(without[0])][:60]!r}; "
                f"wanted at most a share of {self.max_share_without_hits:g}. "
                f"Does the tokenizer ({type(self.tokenizer).__name__}) fit the language? Name it: language=en "
                "for English, zh for Chinese, multi for several in one corpus. "
                "If such queries are expected, set retriever.sparse_index.max_share_without_hits=1."
            )


def _terms(passages: Passages) -> Terms:
    assert passages.terms is not None, "the index has a tokenizer, so terms are filled"
    return passages.terms


def _dense_scores(index: Arrays, query: NDArray[np.int32]) -> NDArray[np.float32]:
    """The score of every chunk for one query."""
    data, indices, indptr = index["data"], index["indices"], index["indptr"]
    scores = np.zeros(int(index["n_chunks"][0]), dtype=np.float32)
    for term in query.tolist():
        postings = slice(indptr[term], indptr[term + 1])
        scores[indices[postings]] += data[postings]
    return scores


def _compiled(index: Arrays, queries: Terms, asked: list[int], depth: int) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """bm25s's own search over our matrix. It is arbitrary which of several chunks tied at the last place it returns, so
    one more hit than wanted is asked for, and rows with such a tie are searched again by our own, exact code.
    """
    with loading():
        import bm25s

    n_chunks = int(index["n_chunks"][0])
    n_asked = min(depth + 1, n_chunks)
    search = bm25s.BM25(backend="numba")
    search.scores = {**{name: np.asarray(index[name]) for name in ("data", "indices", "indptr")}, "num_docs": n_chunks}
    # What `index` would have set: the scores are ours, and terms are numbers already, so there is no vocabulary.
    search.nonoccurrence_array = None
    search.vocab_dict = {}
    search.unique_token_ids_set = range(queries.n_vocabulary)
    rows = [queries.row(i).tolist() for i in asked]
    found = search.retrieve(rows, k=n_asked, show_progress=False, n_threads=n_threads())
    for i, chunk, score in zip(asked, found.documents, found.scores, strict=True):
        if n_asked > depth and score[depth] == score[depth - 1] > 0:
            yield i, best_of(_dense_scores(index, queries.row(i)), depth)
        else:
            order = np.lexsort((chunk, -score))[:depth]
            order = order[score[order] > 0]
            yield i, (chunk[order], score[order])


def _rank_bm25(
    settings: Bm25, index: Arrays, queries: Terms, asked: list[int]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    try:
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise _MISSING from error
    ids = index["ids"].tolist()
    if not ids or not asked:
        return  # rank_bm25 divides by the number of words, and would fail
    okapi = BM25Okapi([ids[a:b] for a, b in pairwise(index["offsets"].tolist())], k1=settings.k1, b=settings.b)
    for i in asked:
        yield i, okapi.get_scores(queries.row(i).tolist()).astype(np.float32)
