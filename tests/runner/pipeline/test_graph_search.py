"""The search in a graph of facts among the other steps of a cell: sub-corpora, filters, variants, iterations, arms."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from components.expanders.combined import Combined
from components.expanders.none import NoExpander
from components.expanders.written import WrittenQueries
from components.fact_graph.entity_graph import EntityGraph
from components.fact_graph.fact_tables import fact_table, facts_within
from components.filters.metadata import ByMetadata
from components.fusions.rrf import ReciprocalRank
from components.headers.place import Place
from components.iterations.asked import AskedSearches
from components.llms.none import NoGenerator
from components.llms.scripted import Scripted
from components.protocols import Ask, EmbedderState
from components.records import Answer, Condition, Fact, FactsOfChunk, FactTable, Passages, Request
from components.retrievers.arms import ByGraph, ByTerms
from components.retrievers.dense import Dense
from components.retrievers.graph import GraphSearch
from components.retrievers.multi_arm import MultiArm
from components.sparse_indexes.bm25 import Bm25
from components.tokenizers.character_bigrams import CharacterBigrams
from components.vector_indexes.faiss_index import Flat
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.corpus import chunk_vectors
from runner.pipeline.corpus.chunk_facts import DistinctFacts, LLMFacts
from runner.pipeline.result import Result
from runner.pipeline.search.dense_search import DenseHits
from runner.pipeline.search.filtering import FilteredHits
from runner.pipeline.search.fusing import FusedHits
from runner.pipeline.search.graph_search import FactGraph, FactVectors, GraphHits
from runner.pipeline.search.iterating import SearchHits
from tests.contracts.ranking_checks import rankings_of
from tests.runner.pipeline.fixed import FACTS, FixedData, LetterCounts, fixed_cell, graph_in, run_all

GRAPH = EntityGraph(synonym_threshold=0.95)


@dataclass(frozen=True)
class FromEnds:
    """Asks a model as `FACTS` does, and then states of each chunk that its second word has its last one."""

    llm: Scripted = Scripted(reply='{"facts": []}')
    are_stated: bool = True
    n_lacking: int = 0

    version: ClassVar[int] = 1

    def read_facts(self, chunks: Passages, ask: Ask) -> list[FactsOfChunk]:
        FACTS.read_facts(chunks, ask)
        words = [text.rstrip(".").split() for text in chunks.texts]
        stated = [(Fact(own[1], "has", own[-1]),) if self.are_stated else () for own in words]
        return [FactsOfChunk(facts) for facts in stated[self.n_lacking :]]


@dataclass(frozen=True)
class Breakable(LetterCounts):
    """Remembers the texts of every call, and breaks at the call number `breaks_at` (from 1)."""

    calls: ClassVar[list[list[str]]] = []
    breaks_at: ClassVar[int] = 0

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        if len(self.calls) + 1 == self.breaks_at:
            raise KeyboardInterrupt
        self.calls.append(list(chunks.texts))
        return super().embed_chunks(chunks, state)


@dataclass(frozen=True)
class BreakableModel(Scripted):
    """Remembers the chunk of every request, and breaks at the request number `breaks_at` (from 1)."""

    asked: ClassVar[list[str]] = []
    breaks_at: ClassVar[int] = 0

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if len(self.asked) + 1 == self.breaks_at:
                raise KeyboardInterrupt
            self.asked.append(request.sample.question)
            yield from super().generate([request])


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    for own in (Breakable.calls, BreakableModel.asked):
        own.clear()
    Breakable.breaks_at = BreakableModel.breaks_at = 0
    yield
    Breakable.breaks_at = BreakableModel.breaks_at = 0


SEARCH = GraphSearch(LetterCounts(), FromEnds(), GRAPH, depth=6, fusion=ReciprocalRank())
WORDS = ByTerms(Bm25(tokenizer=CharacterBigrams(), max_share_without_hits=1.0))


def stages(store: Store, kind: type[Stage[Any]], **fields: Any) -> list[Any]:
    cell = fixed_cell(**{"retriever": SEARCH, "llm": NoGenerator(), **fields})
    return [stage for stage in graph_in(store, cell).result.upstream() if isinstance(stage, kind)]


def decode_stored(store: Store, stage: Stage[Any]) -> Any:
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


def stored_bytes(store: Store, found: Sequence[Stage[Any]]) -> list[dict[str, bytes]]:
    entries = [store.find(stage.kind, stage.key) for stage in found]
    return [{file: (own.folder / file).read_bytes() for file in own.manifest.files} for own in entries if own]


def report_of(store: Store, **fields: Any) -> tuple[Any, Any]:
    """The counts and the report of a cell."""
    (result,) = stages(store, Result, **fields)
    run_all(store, result)
    summary = decode_stored(store, result).summary
    return summary["judges"]["graph"], summary["steps"]["retriever"]


def documents_of_hits(store: Store, hits: Any, **fields: Any) -> list[set[int]]:
    """The documents of the hits of each query."""
    (asked,) = stages(store, LLMFacts, **fields)
    document = decode_stored(store, asked.chunks.chunks).document
    return [{int(document[chunk]) for chunk in ranking} for ranking in rankings_of(decode_stored(store, hits))]


def break_off(store: Store, *wanted: Stage[Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(run_stages(make_plan([(stage, 1) for stage in wanted], store).order, store, Local()))
    Breakable.breaks_at = BreakableModel.breaks_at = 0


def test_fact_replies_before_a_kill_are_not_requested_again(tmp_path: Path) -> None:
    """The resumed result equals the undisturbed result byte for byte."""
    reader = replace(FACTS, llm=BreakableModel(reply='{"facts": [["{question}", "is", "old"]]}'))
    own = {"retriever": replace(SEARCH, extractor=reader)}
    broken, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    BreakableModel.breaks_at = 4
    break_off(broken, *stages(broken, LLMFacts, **own))
    assert len(BreakableModel.asked) == 3
    run_all(broken, *stages(broken, FactGraph, **own))
    assert len(BreakableModel.asked) == len(set(BreakableModel.asked)) == 9
    run_all(whole, *stages(whole, FactGraph, **own))
    kinds = (LLMFacts, DistinctFacts, FactVectors, FactGraph)
    for kind in kinds:
        one, other = (stored_bytes(store, stages(store, kind, **own)) for store in (broken, whole))
        assert one == other
        assert one


def test_fact_vectors_before_a_kill_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"retriever": replace(SEARCH, embedder=Breakable())}
    broken, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    run_all(whole, *stages(whole, FactVectors, **own))
    Breakable.calls.clear()
    monkeypatch.setattr(chunk_vectors, "BLOCK_CHUNKS", 2)
    run_all(broken, *stages(broken, DistinctFacts, **own))
    Breakable.breaks_at = 3
    vectors = stages(broken, FactVectors, **own)
    break_off(broken, vectors[0])
    assert [len(texts) for texts in Breakable.calls] == [2, 2]
    run_all(broken, *vectors)
    texts = list(chain(*Breakable.calls))
    assert len(texts) == len(set(texts))
    assert stored_bytes(broken, vectors) == stored_bytes(whole, stages(whole, FactVectors, **own))


def test_graph_search_without_facts_equals_a_dense_search(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (found,) = stages(store, GraphHits, retriever=replace(SEARCH, extractor=FromEnds(are_stated=False)))
    (dense,) = stages(store, DenseHits, retriever=Dense(LetterCounts(), Flat(), depth=6))
    run_all(store, found, dense)
    assert rankings_of(decode_stored(store, found)) == rankings_of(decode_stored(store, dense))
    assert (found.vectors.key, found.query_vectors.key) == (dense.vectors.key, dense.query_vectors.key)


def test_graph_facts_change_the_ranking(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (found,) = stages(store, GraphHits)
    (dense,) = stages(store, DenseHits, retriever=Dense(LetterCounts(), Flat(), depth=6))
    run_all(store, found, dense)
    assert rankings_of(decode_stored(store, found)) != rankings_of(decode_stored(store, dense))


def test_graph_search_of_parallel_corpora_equals_separate_searches(tmp_path: Path) -> None:
    store, own = Store(tmp_path), {"dataset": FixedData(side_by_side=True)}
    (found,) = stages(store, GraphHits, **own)
    run_all(store, found)
    east, west = documents_of_hits(store, found, **own)[:2], documents_of_hits(store, found, **own)[2:]
    assert all(documents <= {0, 1} for documents in east)
    assert all(documents <= {2, 3} for documents in west)
    hits, read = decode_stored(store, found), decode_stored(store, found.built.table.facts)
    chunks, queries, state = (
        decode_stored(store, own) for own in (found.vectors, found.query_vectors, found.facts.state)
    )
    n_east = int(np.searchsorted(decode_stored(store, found.built.table.facts.chunks.chunks).document, 2))
    columns = list(zip(read.chunk.tolist(), read.subject, read.relation, read.object, strict=True))
    for first, last, rows in ((0, n_east, slice(0, 2)), (n_east, len(chunks), slice(2, 4))):
        stated = [(chunk - first, Fact(*parts)) for chunk, *parts in columns if first <= chunk < last]
        alone = _Alone(fact_table(stated, last - first), state)
        graph = GRAPH.build(alone.facts, alone.phrases)
        expected = GRAPH.search(graph, alone.texts, chunks[first:last], queries[rows], 6)
        assert [[chunk - first for chunk in ranking] for ranking in rankings_of(hits)[rows]] == rankings_of(expected)


class _Alone:
    """The facts of one corpus, and their vectors."""

    def __init__(self, table: FactTable, state: EmbedderState) -> None:
        self.facts = facts_within(table, 0, table.n_chunks)
        self.phrases = LetterCounts().embed_chunks(Passages(table.phrases), state)
        self.texts = LetterCounts().embed_chunks(Passages(table.facts), state)


def test_filtered_graph_hits_keep_the_order_of_the_whole_ranking(tmp_path: Path) -> None:
    store = Store(tmp_path)
    west = {"filter": ByMetadata({"place": Condition(equals=("west",))})}
    shallow = {"retriever": replace(SEARCH, depth=2)}
    (filtered,) = stages(store, FilteredHits, **west, **shallow)
    (whole,) = stages(store, GraphHits, retriever=replace(SEARCH, depth=100))
    run_all(store, filtered, whole)
    (asked,) = stages(store, LLMFacts)
    document = decode_stored(store, asked.chunks.chunks).document
    for found, ranking in zip(
        rankings_of(decode_stored(store, filtered)), rankings_of(decode_stored(store, whole)), strict=True
    ):
        assert found == [chunk for chunk in ranking if document[chunk] >= 2][:2]


def test_query_variants_search_the_same_graph(tmp_path: Path) -> None:
    store = Store(tmp_path)
    written = WrittenQueries(Scripted(reply='{"texts": ["The {question}"]}'), "", "{question}", "Again.")
    expander = Combined(Scripted(), {"original": NoExpander(), "written": written}, ("original", "written"))
    searches = stages(store, GraphHits, expander=expander)
    assert len(searches) == 2
    assert len({search.built.key for search in searches}) == len(stages(store, LLMFacts, expander=expander)) == 1
    (fused,) = stages(store, FusedHits, expander=expander)
    run_all(store, fused)
    assert all(rankings_of(decode_stored(store, fused)))


def test_iterated_searches_use_the_same_graph(tmp_path: Path) -> None:
    store = Store(tmp_path)
    model = Scripted(reply='{"next": "The {question}", "done": false}')
    again = AskedSearches(model, "", "{question}\n{passages}\n{steps}", "Again.", n_passages=1)
    searches = stages(store, GraphHits, iterative=again)
    assert len(searches) == 3
    assert len({search.built.key for search in searches}) == 1
    found = stages(store, SearchHits, iterative=again)
    run_all(store, *found)
    assert [all(rankings_of(decode_stored(store, hits))) for hits in found] == [True, False], (
        "the third query is a repetition"
    )


def test_graph_arm_is_shared_with_the_graph_search(tmp_path: Path) -> None:
    store = Store(tmp_path)
    arm = ByGraph(LetterCounts(), FromEnds(), GRAPH)
    assert SEARCH.arms == (arm,)
    fused = MultiArm({"facts": arm, "words": WORDS}, {}, ReciprocalRank(weights=()), depth=9)
    own = (replace(SEARCH, depth=9), fused)
    (alone,), (among_others,) = (stages(store, GraphHits, retriever=retriever) for retriever in own)
    assert alone.key == among_others.key
    (result,) = stages(store, Result, retriever=fused)
    run_all(store, result)
    hits = decode_stored(store, result).samples["retrieved"].to_pylist()
    graph = rankings_of(decode_stored(store, alone))
    for row, ranking in zip(hits, graph, strict=True):
        assert sorted(hit["rank_graph"] for hit in row if hit["rank_graph"]) == list(range(1, len(ranking) + 1))


def test_fact_extractor_reads_chunks_with_their_headers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    reader = replace(FACTS, llm=BreakableModel(reply='{"facts": []}'))
    own = {"retriever": replace(SEARCH, extractor=reader), "header": Place(section=False)}
    run_all(store, *stages(store, LLMFacts, **own))
    assert BreakableModel.asked[0].strip() == "East/Bridge\nThe bridge was opened in 1932."


def test_search_only_fields_share_the_graph(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one, other = (
        stages(store, FactGraph, retriever=replace(SEARCH, graph=graph))[0].key
        for graph in (GRAPH, replace(GRAPH, n_facts=2, damping=0.8, passage_weight=0.1, tolerance=1e-3))
    )
    assert one == other
    assert one != stages(store, FactGraph, retriever=replace(SEARCH, graph=EntityGraph()))[0].key


def test_graph_record_has_its_size_and_cost(tmp_path: Path) -> None:
    for number, side_by_side in enumerate((False, True)):
        counts, facts = report_of(Store(tmp_path / f"{number}"), dataset=FixedData(side_by_side=side_by_side))
        assert (counts["n_judged"], counts["n_unparsable"], counts["n_failed"]) == (9, 0, 0)
        assert (facts["n_chunks"], facts["n_chunks_without_facts"], facts["n_requests"]) == (9, 0, 9)
        assert facts["n_facts"] == 9
        assert 9 < facts["n_phrases"] <= 18
        assert facts["line"].startswith(f"graph: 9 facts about {facts['n_phrases']} phrases, ")
    two = {"one": ByGraph(LetterCounts(), FACTS, GRAPH), "two": ByGraph(LetterCounts(), FACTS, EntityGraph())}
    fused = MultiArm(two, {}, ReciprocalRank(weights=()), depth=6)
    counts, facts = report_of(Store(tmp_path / "two"), retriever=fused)
    assert (counts["n_judged"], facts["n_requests"]) == (9, 9), "two graphs of the same facts ask once"
    assert (facts["n_chunks"], facts["n_facts"], facts["n_left_out"]) == (9, 9, 9)


WRONG = FactsOfChunk((Fact("a", "b", 1),))  # type: ignore[arg-type]  # as a class of a user might return


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (lambda self, chunks, ask: [FactsOfChunk()], "returned facts of 1 chunks, expected 9"),
        (lambda self, chunks, ask: [()] * 9, "returned something other than a list of FactsOfChunk"),
        (lambda self, chunks, ask: [WRONG] * 9, "returned something other than a list of FactsOfChunk"),
        (lambda self, chunks, ask: (FactsOfChunk(),) * 9, "returned something other than a list of FactsOfChunk"),
    ],
)
def test_invalid_facts_fail_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[..., Any], problem: str
) -> None:
    monkeypatch.setattr(FromEnds, "read_facts", read)
    store = Store(tmp_path)
    order = make_plan([(*stages(store, LLMFacts), 1)], store).order
    (error,) = [run.error for run in run_stages(order, store, Local()) if run.failed]
    assert f"FromEnds: {problem}" in str(error)
