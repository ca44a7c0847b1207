"""Connects the stages of a cell's search: all arms in one ranking, an existing index, or an arm that picks its hits."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from components.gold_copies import GoldCopies
from components.iterations.none import OneSearch
from components.protocols import (
    AnyIteration,
    CandidateArm,
    Diversity,
    EncodedArm,
    ExistingIndexArm,
    Expander,
    Filter,
    GraphArm,
    IterativeSearch,
    PickingArm,
    Retriever,
)
from components.records import Hits, Queries
from runner.engine.stage import Stage
from runner.pipeline.corpus.cell_texts import Texts
from runner.pipeline.corpus.chunk_headers import SearchedTexts
from runner.pipeline.corpus.cutting import ChunkedCorpus
from runner.pipeline.corpus.loaded_data import Data, SampleSet
from runner.pipeline.corpus.step_reports import StepReport
from runner.pipeline.search.arm_search import hits_of_arm
from runner.pipeline.search.diversifying import diverse_hits, diversity_reports
from runner.pipeline.search.existing_index import IndexReport, index_search
from runner.pipeline.search.expanding import gives_one_query, reranking_queries, searched_queries, unasked_queries
from runner.pipeline.search.filtering import FilteredDocuments, filter_reports, filtered_documents, filtered_hits
from runner.pipeline.search.fusing import Ranking, joined_hits
from runner.pipeline.search.graph_search import graph_reports
from runner.pipeline.search.hit_ranks import ArmRanking, search_names
from runner.pipeline.search.iterating import iterated_search
from runner.pipeline.search.picked_hits import PickedHits

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell


@dataclass(frozen=True, kw_only=True)
class SearchComponents:
    """The components of the search of a cell."""

    expander: Expander
    filter: Filter
    retriever: Retriever
    iterative: AnyIteration = OneSearch()
    diversity: Diversity


@dataclass(frozen=True)
class SearchResult:
    """The `hits` of `queries`, as chunks that are read, after the diversity step. A reranker reads `rerank_queries`.

    `further` are the queries of further searches.
    """

    hits: Stage[Hits]
    queries: tuple[Stage[Queries], ...]
    rerank_queries: Stage[Queries]
    rankings: tuple[ArmRanking, ...]
    reports: tuple[StepReport, ...]
    further: tuple[Stage[Queries], ...] = ()


def picking_arm(cell: "Cell") -> PickingArm | None:
    """Return the arm that picks hits without a query; None for a cell that searches."""
    return next((arm for arm in cell.retriever.arms if isinstance(arm, PickingArm)), None)


def search_hits(cell: "Cell", texts: Texts, gold: Stage[SampleSet], copies: Stage[GoldCopies]) -> SearchResult:
    """Return the hits of a cell. `gold` are the samples with their gold in the refined texts, and `copies` are the
    copies of the gold.
    """
    picking = picking_arm(cell)
    if picking:
        n = cell.top_k if picking.picks_for_prompt else cell.retriever.depth
        query = unasked_queries(cell.expander, texts.data)
        picked = PickedHits(picking, n, gold, texts.corpus, texts.chunks)
        return _diversify(cell, texts, SearchResult(picked, (query,), query, (), ()))
    return _diversify(cell, texts, _search(cell, texts, copies))


def indexed_hits(cell: "Cell", data: Data, arm: ExistingIndexArm) -> tuple[Texts, SearchResult]:
    """Return the hits of an existing index, and the texts in which they were located."""
    queries = searched_queries(cell.expander, data)
    indexed = index_search(arm, cell.retriever.depth, data, queries)
    rankings = [Ranking(hits, variant) for hits, variant in zip(indexed.rankings, queries, strict=True)]
    is_one = gives_one_query(cell.expander)
    hits = joined_hits(cell.retriever.fusion, cell.retriever.depth, rankings, is_one_query_each=is_one)
    chunks = indexed.chunks
    texts = Texts(
        indexed.data.corpus, (), indexed.data, ChunkedCorpus(chunks, chunks), SearchedTexts(indexed.data, chunks)
    )
    reports = (IndexReport(indexed.places, indexed.rankings),)
    search = SearchResult(hits, queries, reranking_queries(cell.expander, data), (), reports)
    return texts, _diversify(cell, texts, search)


def _diversify(cell: "Cell", texts: Texts, search: SearchResult) -> SearchResult:
    hits = diverse_hits(cell.diversity, *texts.ranked, search.hits)
    reports = (*search.reports, *diversity_reports(hits))
    return replace(search, hits=hits, reports=reports)


def _search(cell: "Cell", texts: Texts, copies: Stage[GoldCopies]) -> SearchResult:
    """Search with all arms for all variants of the query, and join the rankings. An iteration then searches again."""
    retriever, data = cell.retriever, texts.data
    queries = searched_queries(cell.expander, data)
    allowed = filtered_documents(cell.filter, data, texts.chunked.searched)
    rankings = _rankings(cell, texts, queries, allowed)
    joined = joined_hits(
        retriever.fusion,
        retriever.depth,
        [ranking for _, ranking in rankings],
        is_one_query_each=gives_one_query(cell.expander),
    )
    rerank_queries = reranking_queries(cell.expander, data)
    reports = (*filter_reports(data, allowed, joined), *graph_reports(retriever, *texts.searched))
    rankings_of_arms = tuple(ArmRanking(names, ranking) for names, ranking in rankings)
    if not isinstance(cell.iterative, IterativeSearch):
        return SearchResult(texts.chunked.hits_to_read(joined), queries, rerank_queries, rankings_of_arms, reports)

    def search(query: Stage[Queries]) -> Stage[Hits]:
        new_rankings = [ranking for _, ranking in _rankings(cell, texts, (query,), allowed, is_first=False)]
        return joined_hits(retriever.fusion, retriever.depth, new_rankings, is_one_query_each=True)

    iteration = iterated_search(cell.iterative, texts, retriever.depth, joined, search, copies)
    rankings_of_arms += tuple(ArmRanking((f"search_{n}",), hits) for n, hits in enumerate(iteration.searches, start=1))
    return SearchResult(
        iteration.hits, queries, rerank_queries, rankings_of_arms, (*reports, iteration.report), iteration.decided
    )


def _rankings(
    cell: "Cell",
    texts: Texts,
    queries: Iterable[Stage[Queries]],
    allowed: FilteredDocuments | None,
    *,
    is_first: bool = True,
) -> list[tuple[tuple[str, ...], Ranking]]:
    """Return the names and the ranking of every arm for every variant of the query, among the allowed documents."""
    retriever, (data, chunks), rankings = cell.retriever, texts.searched, []
    for arm, names in zip(retriever.arms, search_names(retriever), strict=True):
        for variant in queries:
            assert isinstance(arm, CandidateArm | EncodedArm | GraphArm), "a picking arm is the only arm of a retriever"
            search = hits_of_arm(arm, data, chunks, variant, retriever.depth, is_first=is_first)
            rankings.append((names, Ranking(filtered_hits(search, variant, allowed, chunks), variant)))
    return rankings
