"""Our BM25 compared with the package rank_bm25 over 150,000 chunks: time per query, and equal rankings."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import crud_rag
from benchmarks.child import in_child
from benchmarks.chunks import chunk_spans
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

if TYPE_CHECKING:
    from components.records import IndexBlock, Passages, Terms
    from components.sparse_indexes.bm25 import Bm25

_CHUNK_SIZE, _DEPTH, _TOP = 128, 100, 10


@dataclass(frozen=True)
class Comparison:
    """Times and rankings. `n_compared` queries have no word of negative idf; `n_equal` of them have equal first ten
    hits.
    """

    n_chunks: int
    n_queries: int
    seconds_per_query: float
    seconds_per_query_of_rank_bm25: float
    n_compared: int
    n_equal: int


def measure(settings: Settings) -> list[Measure]:
    """Compare both on the same terms. Ours finds the best 100 of every query; rank_bm25 only scores the chunks."""
    found = in_child(compare, settings).value
    own, other = found.seconds_per_query * 1000, found.seconds_per_query_of_rank_bm25 * 1000
    detail = f"{other:.1f} ms / {own:.2f} ms per query over {found.n_chunks:,} chunks, {found.n_queries:,} queries"
    equal = f"{found.n_equal} of {found.n_compared} queries without a word of negative idf, formula=okapi"
    return [
        Measure("time per query", other / own, "x", detail, Bound(100, at_least=True)),
        Measure("same first ten", found.n_equal / found.n_compared, "share", equal, Bound(1, at_least=True)),
    ]


def compare(settings: Settings) -> Comparison:
    """Build both indexes and search them."""
    from rank_bm25 import BM25Okapi

    from components.sparse_indexes.bm25 import Bm25, Formula

    chunks, queries = _passages(settings)
    seconds = _seconds_per_query(Bm25(), chunks, queries)
    okapi = Bm25(formula=Formula.OKAPI, max_share_without_hits=1)
    hits = okapi.search([_block(okapi, chunks)], queries, _TOP)
    assert chunks.terms is not None
    assert queries.terms is not None
    theirs = BM25Okapi(_rows(chunks.terms), k1=okapi.k1, b=okapi.b)
    asked = _without_negative_idf(chunks.terms, queries.terms, settings.scale.n_rank_bm25_queries)
    spent, n_equal = 0.0, 0
    for i, (query_s, scores) in zip(asked, _time_queries(theirs, queries.terms, asked), strict=True):
        spent += query_s
        n_equal += _first(scores) == hits.chunk[i][hits.chunk[i] >= 0].tolist()
    return Comparison(len(chunks), len(queries), seconds, spent / len(asked), len(asked), n_equal)


def _passages(settings: Settings) -> "tuple[Passages, Passages]":
    """Return `n_chunks` chunks and the queries, with their terms."""
    from components.records import Passages, Spans, SpanTexts
    from components.text.corpus_tables import build_term_table, query_terms
    from components.tokenizers.rjieba_words import RjiebaWords

    scale, words = settings.scale, RjiebaWords()
    documents = crud_rag.documents(settings.crud_rag, scale.n_chunks // 4)
    spans = chunk_spans(documents, _CHUNK_SIZE)
    n = scale.n_chunks
    spans = Spans(spans.document[:n], spans.start[:n], spans.end[:n])
    table = build_term_table(documents, words)
    events = crud_rag.queries(settings.crud_rag, scale.n_queries)
    chunks = Passages(SpanTexts(documents, spans), table.chunk_terms(spans))
    return chunks, Passages(events, query_terms(events, words, table))


def _block(index: "Bm25", chunks: "Passages") -> "IndexBlock":
    """Return an index over all chunks."""
    from components.records import IndexBlock

    assert chunks.terms is not None
    places = np.arange(max(len(chunks), chunks.terms.n_vocabulary), dtype=np.int32)
    return IndexBlock(index.build(chunks), places[: len(chunks)], places[: chunks.terms.n_vocabulary])


def _seconds_per_query(index: "Bm25", chunks: "Passages", queries: "Passages") -> float:
    """Return the seconds per query of a search for all queries together, as in a stage."""
    block = _block(index, chunks)
    started = time.perf_counter()
    index.search([block], queries, _DEPTH)
    return (time.perf_counter() - started) / len(queries)


def _rows(terms: "Terms") -> list[list[int]]:
    return [terms.row(i).tolist() for i in range(len(terms))]


def _without_negative_idf(chunks: "Terms", queries: "Terms", n_queries: int) -> list[int]:
    """Return the first queries in which every word occurs in fewer than half of the chunks."""
    from components.text.sparse_counts import count_matrix

    frequency = np.bincount(count_matrix(chunks).indices, minlength=chunks.n_vocabulary)
    rare = (i for i, row in enumerate(_rows(queries)) if row and frequency[row].max() < len(chunks) / 2)
    return list(islice(rare, n_queries))


def _time_queries(index: Any, queries: "Terms", asked: Sequence[int]) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Yield the seconds that rank_bm25 takes for each query, and its scores of all chunks."""
    for i in asked:
        query = queries.row(i).tolist()
        started = time.perf_counter()
        scores = index.get_scores(query)
        yield time.perf_counter() - started, scores


def _first(scores: NDArray[np.float64]) -> list[int]:
    """Return the positions of the best chunks; equal scores are in order of position."""
    best = np.argsort(-scores, kind="stable")[:_TOP]
    chosen: list[int] = best[scores[best] > 0].tolist()
    return chosen
