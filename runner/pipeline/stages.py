"""The stages of one cell, from its components.

    data ─┬─ corpus ─┬─ segments ── chunks ─┬─ vectors ── vector_index ── dense_hits ──┐
          │          └─ terms ──────────────┴─ sparse_index ───────────── sparse_hits ─┴─ fused_hits ── reranked_hits
          └─ samples ── queries ── query_terms, query_vectors ────────────────┘                             │
                                              ┌─────────────────────────────────────────────────────────────┤
                                       ranking_scores                            context_scores ── context ─┘
                                              │                                         │             │
                                              └──────────── result ─────────────────────┴───────┬── answers
                                                      answer_scores, judged_scores ─────────────┘


`top_k` first appears at the context, the prompt and the model at the answers: all before them is shared by the cells of
a sweep that differ in nothing else. A stage is named after what it makes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.protocols import AnswerMetric, ContextMetric, Metric, RankingMetric, WordTokenizer
from runner.engine.identity import key_of
from runner.engine.stage import Stage
from runner.pipeline import answers, corpus, judging, matrices, result, retrieval, scoring
from runner.pipeline.cell import Cell

KINDS = tuple(
    """
    data corpus samples segments chunks terms queries query_terms fitted vectors query_vectors vector_index dense_hits
    sparse_index sparse_hits fused_hits reranked_hits context answers reference_units answer_units prepared
    ranking_scores context_scores answer_scores judged_scores matrices result
    """.split()
)
"""All kinds of stages, in the order in which work flows."""


@dataclass(frozen=True)
class Data:
    """A loaded data set as stages. `notes` are what its loader had to decide; `parts` how the ids of documents begin
    that are searched together, ("",) for one corpus.
    """

    corpus: Stage
    samples: Stage
    n_documents: int
    n_samples: int
    parts: tuple[str, ...]
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
    return Stage("data", corpus.load, cell.dataset, content=cell.dataset.fingerprint(), version=2)


def data_of(loaded: Stage, content: Mapping[str, Any], notes: Mapping[str, Any]) -> Data:
    """Corpus and samples of a data stage, given these parts of its result."""
    inputs = {"data": loaded}
    return Data(
        Stage("corpus", corpus.take_corpus, None, inputs, content=content["documents"]),
        Stage("samples", corpus.take_samples, None, inputs, content=content["samples"]),
        content["n_documents"],
        content["n_samples"],
        tuple(content["parts"]),
        notes,
    )


def graph_of(cell: Cell, data: Data) -> Graph:
    """All stages of a cell."""
    samples = {"samples": data.samples}
    queries = Stage("queries", corpus.expand, cell.expander if cell.retriever.depth else None, samples)
    found: dict[str, Stage] = {}
    used = {"dataset", "tokenizer", "retriever", "prompt", "llm", "metrics", "judge"}
    if cell.retriever.depth:
        found = _retrieval(cell, data, queries)
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
    scores = {
        **_scores(cell, {**samples, **found}, context, generated),
        **_judged_scores(cell, {**samples, **texts, "context": context}, generated),
    }
    pictures = {
        f"matrices/{name}": Stage("matrices", matrices.draw_matrices, None, {**samples, "scores": stage})
        for name, stage in scores.items()
    }
    named = {f"scores/{name}": stage for name, stage in scores.items()}
    inputs = {**samples, **found, "queries": queries, "context": context, "answers": generated, **named, **pictures}
    return Graph(data, Stage("result", result.assemble, None, inputs, version=3), generated, frozenset(used))


def _retrieval(cell: Cell, data: Data, queries: Stage) -> dict[str, Stage]:
    """`corpus`, `chunks`, and `hits` after all that the retriever and the reranker ask for."""
    segments = Stage("segments", corpus.segment_corpus, cell.chunk.length_tokenizer, {"corpus": data.corpus})
    chunks = Stage("chunks", corpus.chunk, cell.chunk, {"corpus": data.corpus, "segments": segments})
    texts = {"corpus": data.corpus, "chunks": chunks}
    retriever = cell.retriever
    rankings = {}
    if retriever.vector_index:
        rankings["dense"] = _dense(cell, data, texts, queries)
    if retriever.sparse_index:
        rankings["sparse"] = _sparse(cell, data, texts, queries)
    if retriever.fusion:
        hits = Stage("fused_hits", retrieval.fuse, retriever.fusion, rankings, {"depth": retriever.depth})
    else:
        (hits,) = rankings.values()
    if cell.reranker.depth:
        words = _words(cell.reranker.tokenizer, data.corpus, queries)
        hits = Stage(
            "reranked_hits", retrieval.rerank, cell.reranker,
            {"hits": hits, **texts, "queries": queries, **words}, _parts(data, texts)[1],
        )  # fmt: skip
    return {**texts, "hits": hits}


def _dense(cell: Cell, data: Data, texts: Mapping[str, Stage], queries: Stage) -> Stage:
    """The dense ranking; `texts` are the corpus and its chunks."""
    embedder, retriever = cell.embedder, cell.retriever
    words = _words(embedder.tokenizer, data.corpus, queries)
    terms = {name: stage for name, stage in words.items() if name == "terms"}
    query_terms = {name: stage for name, stage in words.items() if name == "query_terms"}
    fitted = Stage("fitted", retrieval.fit_embedder, embedder, {"corpus": data.corpus, **terms})
    vectors = Stage("vectors", retrieval.embed_chunks, embedder, {**texts, "fitted": fitted, **terms})
    query_vectors = Stage(
        "query_vectors", retrieval.embed_queries, embedder, {"queries": queries, "fitted": fitted, **query_terms}
    )
    built = retriever.vector_index.as_built if retriever.vector_index else None
    places, parts = _parts(data, texts)
    index = Stage("vector_index", retrieval.build_vector_index, built, {"vectors": vectors, **places}, parts)
    inputs = {"index": index, "vectors": vectors, "query_vectors": query_vectors, **places, **_askers(data)}
    settings = {"depth": retriever.depth, **parts}
    return Stage("dense_hits", retrieval.search_vectors, retriever.vector_index, inputs, settings)


def _sparse(cell: Cell, data: Data, texts: Mapping[str, Stage], queries: Stage) -> Stage:
    """The sparse ranking; `texts` are the corpus and its chunks."""
    sparse_index = cell.retriever.sparse_index
    assert sparse_index is not None, "asked for by the retriever"
    words = _words(sparse_index.tokenizer, data.corpus, queries)
    places, parts = _parts(data, texts)
    built = {**texts, "terms": words["terms"]}
    index = Stage("sparse_index", retrieval.build_sparse_index, sparse_index, built, parts)
    inputs = {"index": index, "queries": queries, "query_terms": words["query_terms"], **places, **_askers(data)}
    settings = {"depth": cell.retriever.depth, **parts}
    return Stage("sparse_hits", retrieval.search_terms, sparse_index, inputs, settings)


def _parts(data: Data, texts: Mapping[str, Stage]) -> tuple[Mapping[str, Stage], dict[str, Any]]:
    """What an index over several corpora side by side reads besides, and its settings; nothing for a single corpus."""
    return (texts, {"parts": data.parts}) if any(data.parts) else ({}, {})


def _askers(data: Data) -> dict[str, Stage]:
    """The samples, which say in which of several corpora they search."""
    return {"samples": data.samples} if any(data.parts) else {}


def _words(tokenizer: WordTokenizer | None, documents: Stage, queries: Stage) -> dict[str, Stage]:
    """The terms of corpus and queries, for a component that has a tokenizer."""
    if tokenizer is None:
        return {}
    terms = Stage("terms", corpus.corpus_terms, tokenizer, {"corpus": documents})
    inputs = {"queries": queries, "terms": terms}
    return {"terms": terms, "query_terms": Stage("query_terms", corpus.terms_of_queries, tokenizer, inputs)}


def _scores(cell: Cell, read: Mapping[str, Stage], context: Stage, generated: Stage) -> dict[str, Stage]:
    """A stage for each kind of metric (those of the ranking do not depend on top_k, the prompt or the model), and one
    of its own for each metric that needs a model.

    `read` are the samples and, with retrieval, corpus, chunks and hits.
    """
    metrics = cell.metrics.scores
    settings = {"interval": cell.metrics.interval}
    stages = {}
    for kind, protocol, compute, inputs in (
        ("ranking_scores", RankingMetric, scoring.score_ranking, {**read}),
        ("context_scores", ContextMetric, scoring.score_context, {**read, "context": context}),
    ):
        of_kind = {name: metric for name, metric in metrics.items() if isinstance(metric, protocol)}
        if of_kind:
            stages[kind] = Stage(kind, compute, {"metrics": of_kind}, inputs, settings)
    quick = {n: m for n, m in metrics.items() if isinstance(m, AnswerMetric) and not hasattr(m, "model")}
    slow = {n: m for n, m in metrics.items() if isinstance(m, AnswerMetric) and hasattr(m, "model")}
    for name, chosen in {"": quick, **{f"/{name}": {name: metric} for name, metric in slow.items()}}.items():
        if chosen:
            inputs = {"samples": read["samples"], "answers": generated, **_units(chosen, read["samples"], generated)}
            stages[f"answer_scores{name}"] = Stage(
                "answer_scores", scoring.score_answers, {"metrics": chosen}, inputs, settings
            )
    return stages


def _units(metrics: Mapping[str, Metric], samples: Stage, generated: Stage) -> dict[str, Stage]:
    """References and answers taken apart, for every metric that has a form; equal forms are one stage."""
    stages = {}
    for name, metric in metrics.items():
        if form := getattr(metric, "form", None):
            stages[f"reference_units/{name}"] = Stage(
                "reference_units", scoring.reference_units, form, {"samples": samples}
            )
            stages[f"answer_units/{name}"] = Stage("answer_units", scoring.answer_units, form, {"answers": generated})
    return stages


def _judged_scores(cell: Cell, read: Mapping[str, Stage], generated: Stage) -> dict[str, Stage]:
    """A stage for each judged metric. `read` are the samples, the context and, with retrieval, corpus and chunks."""
    stages = {}
    for name, metric in cell.judge.scores.items():
        prepared = Stage("prepared", judging.prepare, metric, {"samples": read["samples"]})
        inputs = {**read, "prepared": prepared, **({"answers": generated} if metric.reads_answers else {})}
        settings = {"interval": cell.metrics.interval}
        stages[f"judged_scores/{name}"] = Stage("judged_scores", judging.judge, metric, inputs, settings)
    return stages
