"""Stages of the search in a graph of facts.

    chunks ── asked_facts ── fact_table ─┬─ phrase vectors ── fact_graph ─┐
                                         └─ fact vectors ─────────────────┴─ graph_hits

A dense search with the same embedder shares the vectors of chunks and queries.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from components.fact_graph.fact_tables import facts_within
from components.json_value import Json
from components.protocols import AsksInBatches, Embedder, EmbedderState, GraphArm, PassageGraph, Retriever
from components.records import Hits, Passages, Queries, Spans
from components.text.corpus_tables import query_terms as terms_of_texts
from runner.console.styled_text import count
from runner.engine.codecs import Columns, NamedArraysCodec, Parts, SinglePart
from runner.engine.stage import AnyStage, ServerRequests, Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import EmbeddedTexts, validate_arrays, validate_vectors
from runner.pipeline.corpus.chunk_facts import GRAPH, DistinctFacts, LLMFacts, fact_counts
from runner.pipeline.corpus.chunk_vectors import (
    Vectors,
    build_fitted_embedder,
    embed_all_blocks,
    embed_in_blocks,
    name_blocks,
)
from runner.pipeline.corpus.corpus_terms import CorpusTerms
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.reply_counts import ReplyCounts
from runner.pipeline.corpus.server_requests import embedding_requests, texts_to_request
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.corpus.sub_corpora import ALL, Rows, SearchedCorpora, SubCorpora
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages, build_corpus_terms, build_query_terms
from runner.pipeline.search.checked_hits import validate_hits
from runner.pipeline.search.dense_search import QueryVectors, require_equal_dimensions
from runner.pipeline.search.searching import Search

_FACT_ROWS = "fact_rows"
"""Name of the array of a stored graph with the positions of its facts among all facts."""


@dataclass(frozen=True)
class FactTexts(StageGroup):
    """The facts as texts, or their phrases, as passages for an embedder that may read terms of the corpus."""

    table: DistinctFacts
    are_phrases: bool
    terms: tuple[CorpusTerms, ...] = ()

    def read(self, run: Run) -> Passages:
        """Return the texts, and terms if there is a tokenizer."""
        table = run.read(self.table)
        texts = table.phrases if self.are_phrases else table.facts
        if not self.terms:
            return Passages(texts)
        (terms,) = self.terms
        return Passages(texts, terms_of_texts(texts, terms.tokenizer, run.read(terms)))


class FactVectors(Stage[Vectors], kind="fact_vectors", display_name="vectors of facts", version=1):
    """float32[n, d], the vectors of the facts or of their phrases, embedded as chunks are."""

    codec = SinglePart("vectors")

    embedder: Embedder
    texts: FactTexts
    state: Stage[EmbedderState]

    def server_requests(self, run: Run) -> ServerRequests | None:
        """Return the requests for all texts. None before the facts are stored, because their number is unknown."""
        if not isinstance(self.embedder, AsksInBatches) or not run.is_cached(self.texts.table):
            return None
        texts = texts_to_request(self.embedder, self.texts.read(run).texts, run.received, are_queries=False)
        return embedding_requests(self.embedder, [texts], getattr(self.embedder, "passage_prefix", ""))

    def make(self, run: Run) -> Vectors:
        """Embed block by block. An interrupted run resumes after the last complete block."""
        texts, state = self.texts.read(run), run.read(self.state)
        blocks = list(name_blocks(self.embedder, len(texts)))
        if len(blocks) < 2:
            return self._embed(texts, state)
        return embed_in_blocks(
            run, self.embedder, blocks, lambda rows: self._embed(sub_corpora.rows(texts, rows), state)
        )

    def _embed(self, texts: Passages, state: EmbedderState) -> Vectors:
        kind = EmbeddedTexts.PHRASES if self.texts.are_phrases else EmbeddedTexts.FACTS
        return validate_vectors(self.embedder.embed_chunks(texts, state), len(texts), self.embedder, texts=kind)


class FactGraph(Stage[Parts], kind="fact_graph", display_name="graph of facts", version=1):
    """The graph of the facts and the chunks, one for each sub-corpus."""

    codec = NamedArraysCodec()

    graph: PassageGraph
    table: DistinctFacts
    phrases: FactVectors
    corpora: SubCorpora

    def make(self, run: Run) -> Parts:
        """Build each graph from the facts of its chunks."""
        table, phrases = run.read(self.table), run.read(self.phrases)
        built = []
        for part in self.corpora.ranges(run):
            first, last, _ = part.chunks.indices(table.n_chunks)
            facts = facts_within(table, first, last)
            arrays = validate_arrays(self.graph.build(facts, phrases[facts.phrase_rows]), self.graph)
            built.append({**arrays, _FACT_ROWS: facts.fact_rows})
        return sub_corpora.join(built)


class GraphHits(Search, kind="graph_hits", version=1, work=Work.PER_QUERY):
    """The chunks that the graph ranks highest for every query."""

    codec = Columns(Hits)

    graph: PassageGraph
    built: FactGraph
    facts: FactVectors
    vectors: Stage[Vectors]
    query_vectors: QueryVectors
    corpora: SearchedCorpora

    def make(self, run: Run) -> Hits:
        """Search for all queries."""
        return self.search(run, self.depth, ALL)

    def search(self, run: Run, depth: int, query_rows: Rows) -> Hits:
        """Return the chunks that the graph ranks highest for the chosen queries."""
        built, facts = run.read(self.built), run.read(self.facts)
        vectors, queries = run.read(self.vectors), run.read(self.query_vectors)[query_rows]
        require_equal_dimensions(vectors, queries, self.query_vectors.embedder)
        parts = sub_corpora.select_query_rows(self.corpora.ranges(run), query_rows)
        part_hits = []
        for part in parts:
            graph = dict(sub_corpora.arrays_of_part(built, part))
            rows = graph.pop(_FACT_ROWS)
            part_facts = facts if len(rows) == len(facts) else facts[rows]
            chunks, part_queries = vectors[part.chunks], queries[part.queries]
            hits = self.graph.search(graph, part_facts, chunks, part_queries, depth)
            part_hits.append(validate_hits(hits, len(part_queries), len(chunks), self.graph))
        return sub_corpora.merge(part_hits, parts, len(queries))


@dataclass(frozen=True)
class GraphReport(StepReport):
    """The sizes of a cell's graphs, and the requests and tokens that reading their facts took."""

    step: ClassVar[str] = "retriever"

    graphs: tuple[FactGraph, ...]

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return [stage for graph in self.graphs for stage in (graph.table, graph.table.facts)]

    @property
    def _fact_stages(self) -> list[LLMFacts]:
        return list({graph.table.facts.key: graph.table.facts for graph in self.graphs}.values())

    def count_replies(self, run: Run) -> dict[str, ReplyCounts]:
        """Return the counts of the requests for facts."""
        return fact_counts(run, self._fact_stages)

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return the numbers of distinct facts, phrases and chunks, the counts of the graphs (such as synonyms), and
        the numbers of requests and tokens.

        `n_left_out` counts the entries of replies that are not facts. Tokens are None if the provider did not count
        them.
        """
        tables = [run.read(table) for table in {graph.table.key: graph.table for graph in self.graphs}.values()]
        asked_facts = [run.read(stage) for stage in self._fact_stages]
        usage = self.count_replies(run)[GRAPH].usage
        graph_counts: Counter[str] = Counter()
        for graph in self.graphs:
            for part in sub_corpora.split_index(run.read(graph)):
                graph_counts.update(graph.graph.counts(part))
        facts: dict[str, Json] = {
            "n_facts": sum(len(table.facts) for table in tables),
            "n_phrases": sum(len(table.phrases) for table in tables),
            **graph_counts,
            "n_chunks": sum(table.n_chunks for table in tables),
            "n_chunks_without_facts": sum(table.n_chunks - len(np.unique(table.chunk)) for table in tables),
            "n_left_out": sum(stage_facts.n_left_out for stage_facts in asked_facts),
            **{name: usage[name] for name in ("n_requests", "n_prompt_tokens", "n_completion_tokens")},
        }
        return facts | {LINE: _line(facts, graph_counts)}


def _line(facts: Mapping[str, Json], graph_counts: Mapping[str, int]) -> str:
    n_tokens = [facts[f"n_{side}_tokens"] for side in ("prompt", "completion")]
    tokens = "" if None in n_tokens else f" and {sum(n_tokens):,} tokens"
    without = f"{facts['n_chunks_without_facts']:,} of {count(facts['n_chunks'], 'chunk')} without facts"
    counts = [count(n, name.removeprefix("n_").removesuffix("s").replace("_", " ")) for name, n in graph_counts.items()]
    about = f"{count(facts['n_facts'], 'fact')} about {count(facts['n_phrases'], 'phrase')}"
    return f"graph: {', '.join([about, *counts, without])}; it took {count(facts['n_requests'], 'request')}{tokens}"


def build_graph_search(
    arm: GraphArm, data: DatasetStages, chunks: Stage[Spans], queries: Stage[Queries], depth: int
) -> GraphHits:
    """Return the stage that searches a graph of facts for an arm."""
    embedder = arm.embedder
    vectors = embed_all_blocks(embedder, data, chunks)
    built = _built_graph(arm, data, chunks)
    facts = FactVectors(embedder, replace(built.phrases.texts, are_phrases=False), vectors.state)
    passages = QueryPassages(queries, build_query_terms(embedder.tokenizer, queries, data))
    query_vectors = QueryVectors(embedder, passages, vectors.state)
    searched = sub_corpora.add_query_rows(built.corpora, queries, data.samples)
    return GraphHits(depth, arm.graph, built, facts, vectors, query_vectors, searched)


def _built_graph(arm: GraphArm, data: DatasetStages, chunks: Stage[Spans]) -> FactGraph:
    table = DistinctFacts(LLMFacts(arm.extractor, ChunkPassages(data.corpus, chunks), data.n_documents))
    texts = FactTexts(table, are_phrases=True, terms=build_corpus_terms(arm.embedder.tokenizer, data))
    phrases = FactVectors(arm.embedder, texts, build_fitted_embedder(arm.embedder, data))
    return FactGraph(arm.graph.as_built, table, phrases, sub_corpora.split_corpus(data, chunks))


def graph_reports(retriever: Retriever, data: DatasetStages, chunks: Stage[Spans]) -> tuple[GraphReport, ...]:
    """Return the report of the graphs of a retriever, if it searches any."""
    built = [_built_graph(arm, data, chunks) for arm in retriever.arms if isinstance(arm, GraphArm)]
    graphs = tuple({graph.key: graph for graph in built}.values())
    return (GraphReport(graphs),) if graphs else ()
