"""The stages of one cell, from its components.

    data ─┬─ corpus ─┬─ segments ── chunks ─┬─ vectors ── vector_index ── dense_hits ──┐
          │          └─ terms ──────────────┴─ sparse_index ───────────── sparse_hits ─┴─ fused_hits ── reranked_hits
          └─ samples ── queries ── query_terms, query_vectors ────────────────┘                             │
                                              ┌─────────────────────────────────────────────────────────────┤
                                       ranking_scores                            context_scores ── context ─┘
                                              │                                         │             │
                                              └───────────── result ────────────────────┴─ answer_scores ── answers

`top_k` first appears at the context, the prompt and the model at the answers: all before them is shared by the cells of
a sweep that differ in nothing else. A stage is named after what it makes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.protocols import AnswerMetric, ContextMetric, RankingMetric, WordTokenizer
from runner.cell import Cell
from runner.compute import answers, corpus, matrices, result, retrieval, scoring
from runner.identity import key_of
from runner.stage import Stage

KINDS = tuple(
    """
    data corpus samples segments chunks terms queries query_terms fitted vectors query_vectors vector_index dense_hits
    sparse_index sparse_hits fused_hits reranked_hits context answers ranking_scores context_scores answer_scores
    matrices result
    """.split()
)
"""All kinds of stages, in the order in which work flows."""


@dataclass(frozen=True)
class Data:
    """A loaded data set as stages. `notes` are what its loader had to decide."""

    corpus: Stage
    samples: Stage
    n_documents: int
    n_samples: int
    notes: Mapping[str, Any]

    @property
    def key(self) -> str:
        """SHA-256 that stands for documents and samples, whatever their place or name."""
        return key_of([self.corpus.content, self.samples.content])


@dataclass(frozen=True)
class Graph:
    """The stages of one cell; all others are upstream of `result`. `used` are the configuration groups that count."""

    data: Data
    result: Stage
    answers: Stage
    used: frozenset[str]


def data_stage(cell: Cell) -> Stage:
    """The stage that loads the cell's data set; hashes its files. Raises DataError."""
    return Stage("data", corpus.load, cell.dataset, content=cell.dataset.fingerprint())


def data_of(loaded: Stage, content: Mapping[str, Any], notes: Mapping[str, Any]) -> Data:
    """Corpus and samples of a data stage, given these parts of its result."""
    inputs = {"data": loaded}
    return Data(
        Stage("corpus", corpus.take_corpus, None, inputs, content=content["documents"]),
        Stage("samples", corpus.take_samples, None, inputs, content=content["samples"]),
        content["n_documents"],
        content["n_samples"],
        notes,
    )


def graph_of(cell: Cell, data: Data) -> Graph:
    """All stages of a cell."""
    samples = {"samples": data.samples}
    queries = Stage("queries", corpus.expand, cell.expander if cell.retriever.depth else None, samples)
    found: dict[str, Stage] = {}
    used = {"dataset", "tokenizer", "retriever", "prompt", "llm", "metrics"}
    if cell.retriever.depth:
        found = _retrieval(cell, data.corpus, queries)
        used |= {"chunk", "expander", "reranker", "context", "top_k"}
        used |= {"embedder", "vector_index"} if cell.retriever.vector_index else set()
    # Closed book: the context stage makes empty contexts, and its component is not part of their identity.
    context = (
        Stage("context", answers.build_context, cell.context, found, {"top_k": cell.top_k})
        if found
        else Stage("context", answers.build_context, None, samples)
    )
    texts = {name: found[name] for name in ("corpus", "chunks") if found}
    generated = Stage(
        "answers", answers.generate, cell.llm, {**samples, **texts, "context": context}, {"prompt": cell.prompt}
    )
    scores = _scores(cell, {**samples, **found}, context, generated)
    pictures = {
        f"{name}_matrices": Stage("matrices", matrices.draw_matrices, None, {**samples, "scores": stage})
        for name, stage in scores.items()
    }
    inputs = {**samples, **found, "queries": queries, "context": context, "answers": generated, **scores, **pictures}
    return Graph(data, Stage("result", result.assemble, None, inputs), generated, frozenset(used))


def _retrieval(cell: Cell, documents: Stage, queries: Stage) -> dict[str, Stage]:
    """`corpus`, `chunks`, and `hits` after all that the retriever and the reranker ask for."""
    segments = Stage("segments", corpus.segment_corpus, cell.chunk.ruler, {"corpus": documents})
    chunks = Stage("chunks", corpus.chunk, cell.chunk, {"corpus": documents, "segments": segments})
    texts = {"corpus": documents, "chunks": chunks}
    retriever, settings = cell.retriever, {"depth": cell.retriever.depth}
    rankings = {}
    if retriever.vector_index:
        rankings["dense"] = _dense(cell, texts, queries)
    if retriever.sparse_index:
        words = _words(retriever.sparse_index.tokenizer, documents, queries)
        index = Stage(
            "sparse_index", retrieval.build_sparse_index, retriever.sparse_index,
            {**texts, "terms": words["terms"]},
        )  # fmt: skip
        rankings["sparse"] = Stage(
            "sparse_hits", retrieval.search_terms, retriever.sparse_index,
            {"index": index, "queries": queries, "query_terms": words["query_terms"]}, settings,
        )  # fmt: skip
    if retriever.fusion:
        hits = Stage("fused_hits", retrieval.fuse, retriever.fusion, rankings, settings)
    else:
        (hits,) = rankings.values()
    if cell.reranker.depth:
        words = _words(cell.reranker.tokenizer, documents, queries)
        hits = Stage(
            "reranked_hits", retrieval.rerank, cell.reranker,
            {"hits": hits, **texts, "queries": queries, **words},
        )  # fmt: skip
    return {**texts, "hits": hits}


def _dense(cell: Cell, texts: Mapping[str, Stage], queries: Stage) -> Stage:
    """The dense ranking; `texts` are the corpus and its chunks."""
    embedder, retriever = cell.embedder, cell.retriever
    words = _words(embedder.tokenizer, texts["corpus"], queries)
    terms = {name: stage for name, stage in words.items() if name == "terms"}
    query_terms = {name: stage for name, stage in words.items() if name == "query_terms"}
    fitted = Stage("fitted", retrieval.fit_embedder, embedder, {"corpus": texts["corpus"], **terms})
    vectors = Stage("vectors", retrieval.embed_chunks, embedder, {**texts, "fitted": fitted, **terms})
    query_vectors = Stage(
        "query_vectors", retrieval.embed_queries, embedder, {"queries": queries, "fitted": fitted, **query_terms}
    )
    built = retriever.vector_index.as_built if retriever.vector_index else None
    index = Stage("vector_index", retrieval.build_vector_index, built, {"vectors": vectors})
    inputs = {"index": index, "vectors": vectors, "query_vectors": query_vectors}
    return Stage("dense_hits", retrieval.search_vectors, retriever.vector_index, inputs, {"depth": retriever.depth})


def _words(tokenizer: WordTokenizer | None, documents: Stage, queries: Stage) -> dict[str, Stage]:
    """The terms of corpus and queries, for a component that has a tokenizer."""
    if tokenizer is None:
        return {}
    terms = Stage("terms", corpus.corpus_terms, tokenizer, {"corpus": documents})
    inputs = {"queries": queries, "terms": terms}
    return {"terms": terms, "query_terms": Stage("query_terms", corpus.terms_of_queries, tokenizer, inputs)}


def _scores(cell: Cell, read: Mapping[str, Stage], context: Stage, generated: Stage) -> dict[str, Stage]:
    """One stage for each kind of metric: those of the ranking do not depend on top_k, the prompt or the model.

    `read` are the samples and, with retrieval, corpus, chunks and hits.
    """
    kinds: tuple[tuple[str, Any, Any, dict[str, Stage]], ...] = (
        ("ranking_scores", RankingMetric, scoring.score_ranking, {**read}),
        ("context_scores", ContextMetric, scoring.score_context, {**read, "context": context}),
        ("answer_scores", AnswerMetric, scoring.score_answers, {"samples": read["samples"], "answers": generated}),
    )
    stages = {}
    for kind, protocol, compute, inputs in kinds:
        metrics = {name: metric for name, metric in cell.metrics.scores.items() if isinstance(metric, protocol)}
        if metrics:
            stages[kind] = Stage(kind, compute, {"metrics": metrics, "interval": cell.metrics.interval}, inputs)
    return stages
