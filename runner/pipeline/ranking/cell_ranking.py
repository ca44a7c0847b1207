"""Connects the stages of a cell's ranking: by a reranker, a cascade, or the reranker chosen for each subset."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from components.gold_copies import GoldCopies
from components.protocols import AnyReranker, PlainReranker, RerankerCascade, RerankerSelection
from components.records import Hits
from runner.engine.stage import Stage
from runner.pipeline.corpus.cell_texts import Texts
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.corpus.original_places import ranking_in_original
from runner.pipeline.corpus.step_reports import StepReport
from runner.pipeline.ranking.cascading import Reranking, cascade_reports
from runner.pipeline.ranking.list_reranking import RERANKER
from runner.pipeline.ranking.rerank_stages import reranked_hits
from runner.pipeline.ranking.selecting import (
    ChosenByScores,
    ReportedSamples,
    SelectedHits,
    SelectionReport,
    SelectionSplit,
)
from runner.pipeline.scoring.retrieval_scores import RankingScores
from runner.pipeline.search.cell_search import FoundHits

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell


@dataclass(frozen=True, kw_only=True)
class RankingParts:
    """The reranker of a cell."""

    reranker: AnyReranker


@dataclass(frozen=True)
class RankedHits:
    """The ranking of a cell, and the reports of its steps.

    `hits` is the ranking that later steps read. `steps` are the rankings of all steps and candidates by name.
    `reported` are the samples; samples that no aggregate counts are marked.
    """

    hits: Stage[Hits]
    steps: Mapping[str, Stage[Hits]]
    reports: tuple[StepReport, ...]
    reported: Stage[SampleSet]


def ranked_hits(cell: "Cell", texts: Texts, found: FoundHits, copies: Stage[GoldCopies]) -> RankedHits:
    """Return the ranking of a cell. Each candidate of a selection shares its stages with a cell that only uses it."""
    if isinstance(cell.reranker, RerankerSelection):
        return _select_by_scores(cell, cell.reranker, texts, found, copies)
    whole = _reranking(cell, cell.reranker, texts, found, RERANKER)
    return RankedHits(whole.hits, whole.steps, cascade_reports(whole, texts.corpus, texts.chunks), texts.data.samples)


def _reranking(
    cell: "Cell", reranker: PlainReranker | RerankerCascade, texts: Texts, found: FoundHits, name: str
) -> Reranking:
    """Rerank the hits of each step by the next step."""
    if isinstance(reranker, RerankerCascade):
        named = {f"{name}/{step}": own for step, own in reranker.steps.items()}
    else:
        named = {name: reranker}
    hits, steps, depth = found.hits, dict[str, Stage[Hits]](), cell.retriever.depth
    for step, own in named.items():
        steps[step] = hits = reranked_hits(own, *texts.ranked, found.judged_by, hits, depth)
    return Reranking(hits, steps, {step: own.depth for step, own in named.items()})


def _select_by_scores(
    cell: "Cell", selection: RerankerSelection, texts: Texts, found: FoundHits, copies: Stage[GoldCopies]
) -> RankedHits:
    """Choose a candidate for each subset by the scores of its ranking on one part of the samples."""
    samples, metrics, interval = texts.data.samples, cell.metrics.of_rankings, cell.metrics.interval
    candidates = {
        name: _reranking(cell, candidate, texts, found, f"{RERANKER}/{name}")
        for name, candidate in selection.candidates.items()
    }
    scored = []
    for name, own in candidates.items():
        places = ranking_in_original(texts.refined, texts.chunks, own.hits)
        scored.append((name, RankingScores(metrics, interval, samples, texts.original, *places, copies)))
    metric = next(metric for metric in metrics.values() if selection.metric in metric.names)
    split = SelectionSplit(selection.share, selection.seed, samples, texts.original)
    chosen = ChosenByScores(selection.metric, metric, tuple(scored), samples, split)
    reports = chain(*(cascade_reports(own, texts.corpus, texts.chunks) for own in candidates.values()))
    return RankedHits(
        SelectedHits({name: own.hits for name, own in candidates.items()}, chosen),
        {step: stage for own in candidates.values() for step, stage in own.steps.items()},
        (*reports, SelectionReport(selection.metric, chosen)),
        ReportedSamples(samples, split),
    )
