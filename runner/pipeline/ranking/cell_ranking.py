"""Connects the stages of a cell's ranking: by a reranker, a cascade, or the reranker chosen for each subset."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from components.gold_copies import GoldCopies
from components.protocols import AnyReranker, PlainReranker, RerankerCascade, RerankerSelection
from components.records import Hits
from runner.engine.stage import Stage
from runner.pipeline.corpus.cell_texts import CorpusStages
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.corpus.original_places import map_ranking_to_original
from runner.pipeline.corpus.step_reports import StepReport
from runner.pipeline.ranking.cascading import RerankingStages, cascade_reports
from runner.pipeline.ranking.list_reranking import RERANKER
from runner.pipeline.ranking.rerank_stages import build_rerank
from runner.pipeline.ranking.selecting import (
    ChosenByScores,
    ReportedSamples,
    SelectedHits,
    SelectionReport,
    SelectionSplit,
)
from runner.pipeline.scoring.retrieval_scores import RankingScores
from runner.pipeline.search.cell_search import CellSearchStages

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell


@dataclass(frozen=True, kw_only=True)
class RankingComponents:
    """The reranker of a cell."""

    reranker: AnyReranker


@dataclass(frozen=True)
class RankingStages:
    """The ranking of a cell, and the reports of its steps.

    `hits` is the ranking that later steps read. `steps` are the rankings of all steps and candidates by name.
    `reported` are the samples; samples that aggregates exclude are marked.
    """

    hits: Stage[Hits]
    steps: Mapping[str, Stage[Hits]]
    reports: tuple[StepReport, ...]
    reported: Stage[SampleSet]


def build_ranking(
    cell: "Cell", texts: CorpusStages, search: CellSearchStages, copies: Stage[GoldCopies]
) -> RankingStages:
    """Return the stages that rank. Each candidate of a selection shares its stages with a cell that only uses it."""
    if isinstance(cell.reranker, RerankerSelection):
        return _select_by_scores(cell, cell.reranker, texts, search, copies)
    reranking = _reranking(cell, cell.reranker, texts, search, RERANKER)
    return RankingStages(
        reranking.hits, reranking.steps, cascade_reports(reranking, texts.corpus, texts.chunks), texts.data.samples
    )


def _reranking(
    cell: "Cell", reranker: PlainReranker | RerankerCascade, texts: CorpusStages, search: CellSearchStages, name: str
) -> RerankingStages:
    """Rerank the hits of each step by the next step."""
    if isinstance(reranker, RerankerCascade):
        rerankers = {f"{name}/{step}": step_reranker for step, step_reranker in reranker.steps.items()}
    else:
        rerankers = {name: reranker}
    hits, steps, depth = search.hits, dict[str, Stage[Hits]](), cell.retriever.depth
    for step, step_reranker in rerankers.items():
        steps[step] = hits = build_rerank(step_reranker, *texts.ranked, search.rerank_queries, hits, depth)
    return RerankingStages(hits, steps, {step: step_reranker.depth for step, step_reranker in rerankers.items()})


def _select_by_scores(
    cell: "Cell", selection: RerankerSelection, texts: CorpusStages, search: CellSearchStages, copies: Stage[GoldCopies]
) -> RankingStages:
    """Choose a candidate for each subset by the scores of its ranking on one part of the samples."""
    samples, metrics, interval = texts.data.samples, cell.metrics.ranking_metrics, cell.metrics.interval
    candidates = {
        name: _reranking(cell, candidate, texts, search, f"{RERANKER}/{name}")
        for name, candidate in selection.candidates.items()
    }
    scored = []
    for name, reranking in candidates.items():
        places = map_ranking_to_original(texts.refined, texts.chunks, reranking.hits)
        scored.append((name, RankingScores(metrics, interval, samples, texts.original, *places, copies)))
    metric = next(metric for metric in metrics.values() if selection.metric in metric.names)
    split = SelectionSplit(selection.share, selection.seed, samples, texts.original)
    chosen = ChosenByScores(selection.metric, metric, tuple(scored), samples, split)
    reports = chain(*(cascade_reports(reranking, texts.corpus, texts.chunks) for reranking in candidates.values()))
    return RankingStages(
        SelectedHits({name: reranking.hits for name, reranking in candidates.items()}, chosen),
        {step: stage for reranking in candidates.values() for step, stage in reranking.steps.items()},
        (*reports, SelectionReport(selection.metric, chosen)),
        ReportedSamples(samples, split),
    )
