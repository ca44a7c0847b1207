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
from runner.pipeline.corpus.cell_texts import CorpusStages
from runner.pipeline.corpus.chunk_headers import SearchedTexts
from runner.pipeline.corpus.cutting import ChunkedCorpus
from runner.pipeline.corpus.loaded_data import DatasetStages, SampleSet
from runner.pipeline.corpus.step_reports import StepReport
from runner.pipeline.search.arm_search import build_arm_search
from runner.pipeline.search.diversifying import build_diversity, diversity_reports
from runner.pipeline.search.existing_index_search import IndexReport, build_indexed_stages
from runner.pipeline.search.expanding import (
    build_queries_without_model,
    build_reranking_queries,
    build_search_queries,
    gives_one_query,
)
from runner.pipeline.search.filtering import (
    FilteredDocuments,
    build_document_filter,
    build_filtered_search,
    filter_reports,
)
from runner.pipeline.search.fusing import Ranking, build_fusion
from runner.pipeline.search.graph_search import graph_reports
from runner.pipeline.search.hit_ranks import ArmRanking, search_names
from runner.pipeline.search.iterating import build_iterated_search
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
class CellSearchStages:
    """The `hits` of `queries`, as chunks that are read, after the diversity step. A reranker reads `rerank_queries`.

    `further` are the queries of further searches.
    """

    hits: Stage[Hits]
    queries: tuple[Stage[Queries], ...]
    rerank_queries: Stage[Queries]
    rankings: tuple[ArmRanking, ...]
    reports: tuple[StepReport, ...]
    further: tuple[Stage[Queries], ...] = ()


def find_picking_arm(cell: "Cell") -> PickingArm | None:
    """Return the arm that picks hits without a query; None for a cell that searches."""
    return next((arm for arm in cell.retriever.arms if isinstance(arm, PickingArm)), None)


def build_search(
    cell: "Cell", texts: CorpusStages, gold: Stage[SampleSet], copies: Stage[GoldCopies]
) -> CellSearchStages:
    """Return the stages that search for a cell. `gold` are the samples, with gold in the refined texts, `copies` the
    copies of the gold.
    """
    picking = find_picking_arm(cell)
    if picking:
        n = cell.top_k if picking.picks_for_prompt else cell.retriever.depth
        query = build_queries_without_model(cell.expander, texts.data)
        picked = PickedHits(picking, n, gold, texts.corpus, texts.chunks)
        return _diversify(cell, texts, CellSearchStages(picked, (query,), query, (), ()))
    return _diversify(cell, texts, _search(cell, texts, copies))


def build_index_search(
    cell: "Cell", data: DatasetStages, arm: ExistingIndexArm
) -> tuple[CorpusStages, CellSearchStages]:
    """Return the stages of the texts in which hits are located, and the stages that search an existing index."""
    queries = build_search_queries(cell.expander, data)
    indexed = build_indexed_stages(arm, cell.retriever.depth, data, queries)
    rankings = [Ranking(hits, variant) for hits, variant in zip(indexed.rankings, queries, strict=True)]
    is_one = gives_one_query(cell.expander)
    hits = build_fusion(cell.retriever.fusion, cell.retriever.depth, rankings, is_one_query_each=is_one)
    chunks = indexed.chunks
    texts = CorpusStages(
        indexed.data.corpus, (), indexed.data, ChunkedCorpus(chunks, chunks), SearchedTexts(indexed.data, chunks)
    )
    reports = (IndexReport(indexed.places, indexed.rankings),)
    search = CellSearchStages(hits, queries, build_reranking_queries(cell.expander, data), (), reports)
    return texts, _diversify(cell, texts, search)


def _diversify(cell: "Cell", texts: CorpusStages, search: CellSearchStages) -> CellSearchStages:
    hits = build_diversity(cell.diversity, *texts.ranked, search.hits)
    reports = (*search.reports, *diversity_reports(hits))
    return replace(search, hits=hits, reports=reports)


def _search(cell: "Cell", texts: CorpusStages, copies: Stage[GoldCopies]) -> CellSearchStages:
    """Search with all arms for all variants of the query, and join the rankings. An iteration then searches again."""
    retriever, data = cell.retriever, texts.data
    queries = build_search_queries(cell.expander, data)
    allowed = build_document_filter(cell.filter, data, texts.chunked.searched)
    rankings = _rankings(cell, texts, queries, allowed)
    joined = build_fusion(
        retriever.fusion,
        retriever.depth,
        [ranking for _, ranking in rankings],
        is_one_query_each=gives_one_query(cell.expander),
    )
    rerank_queries = build_reranking_queries(cell.expander, data)
    reports = (*filter_reports(data, allowed, joined), *graph_reports(retriever, *texts.searched))
    rankings_of_arms = tuple(ArmRanking(names, ranking) for names, ranking in rankings)
    if not isinstance(cell.iterative, IterativeSearch):
        return CellSearchStages(texts.chunked.hits_to_read(joined), queries, rerank_queries, rankings_of_arms, reports)

    def search(query: Stage[Queries]) -> Stage[Hits]:
        new_rankings = [ranking for _, ranking in _rankings(cell, texts, (query,), allowed, is_first=False)]
        return build_fusion(retriever.fusion, retriever.depth, new_rankings, is_one_query_each=True)

    iteration = build_iterated_search(cell.iterative, texts, retriever.depth, joined, search, copies)
    rankings_of_arms += tuple(ArmRanking((f"search_{n}",), hits) for n, hits in enumerate(iteration.searches, start=1))
    return CellSearchStages(
        iteration.hits, queries, rerank_queries, rankings_of_arms, (*reports, iteration.report), iteration.decided
    )


def _rankings(
    cell: "Cell",
    texts: CorpusStages,
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
            search = build_arm_search(arm, data, chunks, variant, retriever.depth, is_first=is_first)
            rankings.append((names, Ranking(build_filtered_search(search, variant, allowed, chunks), variant)))
    return rankings
