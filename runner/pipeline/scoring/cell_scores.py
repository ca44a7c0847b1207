"""Connects the stages of a cell's scores: rankings, contexts, answers, citations and judged metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.gold_copies import GoldCopies
from components.records import Answer, Documents
from components.revisers.scores import SupportedAfter
from runner.engine.stage import Stage
from runner.pipeline.answers.cell_answers import AnswerStages, count_passages
from runner.pipeline.answers.located_passages import PassagePositions
from runner.pipeline.answers.prompt_passages import AnyPassages, NoPassages, PipelinePassages, PromptPassages
from runner.pipeline.corpus.loaded_data import DatasetStages, SampleSet
from runner.pipeline.corpus.original_places import OriginalView
from runner.pipeline.scoring.answer_scores import build_answer_scoring
from runner.pipeline.scoring.citation_scores import CitationScores, UncitedAnswers
from runner.pipeline.scoring.judging import SharedJudgeInputs, build_judged_scoring, choose_judged_part
from runner.pipeline.scoring.pipeline_scores import PipelineCitationScores, PipelinePassageScores
from runner.pipeline.scoring.retrieval_scores import ContextScores, RankingScores
from runner.pipeline.scoring.revision_scores import RevisionScores, revision_metrics
from runner.pipeline.scoring.score_stages import NotApplicableScores, Scoring
from runner.pipeline.settings import JudgeSettings, MetricSettings

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell


@dataclass(frozen=True, kw_only=True)
class ScoringComponents:
    """The metrics of a cell."""

    metrics: MetricSettings
    judge: JudgeSettings


@dataclass(frozen=True)
class MetricInputs:
    """Inputs of the metrics of a cell.

    `reported` are the samples; samples that aggregates exclude are marked. `answerable` are the same samples, each
    marked as answerable or not in this cell. `places` are hits and contexts in the `original` corpus, None in a closed
    book.
    """

    reported: Stage[SampleSet]
    answerable: Stage[SampleSet]
    original: Stage[Documents]
    places: OriginalView | None
    copies: Stage[GoldCopies]


def build_scoring_stages(
    cell: "Cell", data: DatasetStages, scored: MetricInputs, passages: PromptPassages, cell_answers: AnswerStages
) -> tuple[Stage[Scoring], ...]:
    """Return the stages that score a cell, each for the metrics with the same inputs."""
    return (
        *_build_retrieval_scoring(cell, data, scored),
        *_answer_scores(cell, data, scored, cell_answers),
        *_citation_scores(cell, scored, passages, cell_answers),
        *_judged_scores(cell, data, scored, passages, cell_answers),
        *_revision_scores(cell, data, scored, passages, cell_answers),
    )


@dataclass(frozen=True)
class PipelineInputs:
    """Inputs of the metrics of a custom pipeline. `places` are the places of its passages in the corpus."""

    passages: PipelinePassages
    places: Stage[PassagePositions]
    answers: Stage[Sequence[Answer]]
    copies: Stage[GoldCopies]


def build_pipeline_scoring_stages(
    cell: "Cell", data: DatasetStages, scored: PipelineInputs
) -> tuple[Stage[Scoring], ...]:
    """Return the stages that score a custom pipeline. Retrieval is scored by the passages that it gives."""
    metrics, interval = cell.metrics, cell.metrics.interval
    shared = interval, data.samples, data.corpus, scored.answers, scored.places, scored.copies
    passage_scores = [PipelinePassageScores(metrics.ranking_metrics, metrics.context_metrics, *shared)]
    citation_scores = [PipelineCitationScores(metrics.citation_metrics, *shared)]
    inputs = MetricInputs(data.samples, data.samples, data.corpus, None, scored.copies)
    cell_answers = AnswerStages((), scored.answers)
    return (
        *(passage_scores if metrics.ranking_metrics or metrics.context_metrics else ()),
        *(citation_scores if metrics.citation_metrics else ()),
        *_answer_scores(cell, data, inputs, cell_answers),
        *_judged_scores(cell, data, inputs, scored.passages, cell_answers),
    )


def _build_retrieval_scoring(cell: "Cell", data: DatasetStages, scored: MetricInputs) -> tuple[Stage[Scoring], ...]:
    """Return the scores of the ranking and the contexts. They do not apply to a closed book, nor do citation
    metrics.
    """
    metrics, places = cell.metrics, scored.places
    if places is None:
        retrieval_metrics = metrics.ranking_metrics | metrics.context_metrics | metrics.citation_metrics
        return (NotApplicableScores(retrieval_metrics, metrics.interval, data.samples),) if retrieval_metrics else ()
    shared = metrics.interval, scored.reported, scored.original
    scorings = list[Stage[Scoring]]()
    if ranking_metrics := metrics.ranking_metrics:
        scorings.append(RankingScores(ranking_metrics, *shared, places.chunks, places.hits, scored.copies))
    if context_metrics := metrics.context_metrics:
        scorings.append(ContextScores(context_metrics, *shared, places.read.spans, places.read.context, scored.copies))
    return tuple(scorings)


def _answer_scores(
    cell: "Cell", data: DatasetStages, scored: MetricInputs, cell_answers: AnswerStages
) -> list[Stage[Scoring]]:
    """Return the scores of the answers. Each metric with a model has a separate stage, so that adding one is cheap."""
    metrics = cell.metrics.answer_metrics
    quick = {name: metric for name, metric in metrics.items() if not hasattr(metric, "model")}
    groups = [quick, *({name: metric} for name, metric in metrics.items() if name not in quick)]
    texts = UncitedAnswers(cell_answers.answers) if cell.metrics.without_citations else cell_answers.answers
    interval = cell.metrics.interval
    return [build_answer_scoring(group, interval, data.samples, scored.answerable, texts) for group in groups if group]


def _citation_scores(
    cell: "Cell", scored: MetricInputs, passages: PromptPassages, cell_answers: AnswerStages
) -> tuple[CitationScores, ...]:
    """Return the scores of the citations, if a metric reads them. A closed book has none."""
    metrics, places = cell.metrics.citation_metrics, scored.places
    if not metrics or places is None or isinstance(passages, NoPassages):
        return ()
    inputs = scored.original, places.read.spans, passages, cell_answers.answers
    return (CitationScores(metrics, cell.metrics.interval, scored.answerable, *inputs, scored.copies),)


def _judged_scores(
    cell: "Cell", data: DatasetStages, scored: MetricInputs, passages: AnyPassages, cell_answers: AnswerStages
) -> list[Stage[Scoring]]:
    """Return the scores of the answers by judges."""
    inputs = data.samples, scored.answerable, passages, cell_answers.answers
    part = choose_judged_part(cell.judge.sample, cell.judge.sample_seed, data.n_samples)
    judging = SharedJudgeInputs(
        cell.metrics.interval, *inputs, data.n_samples, count_passages(cell, passages), part, scored.original
    )
    return [
        build_judged_scoring(name, metric, judging, cell.judge_repeat) for name, metric in cell.judge.scores.items()
    ]


def _revision_scores(
    cell: "Cell", data: DatasetStages, scored: MetricInputs, passages: PromptPassages, cell_answers: AnswerStages
) -> list[Stage[Scoring]]:
    """Return the scores of the reviser. Only the check of revised answers sends requests."""
    if not cell_answers.revised:
        return []
    interval = cell.metrics.interval
    inputs = data.samples, scored.answerable, passages, cell_answers.answers
    judging = SharedJudgeInputs(
        interval, *inputs, data.n_samples, count_passages(cell, passages), None, scored.original
    )
    judged = [metric for metric in revision_metrics(cell.reviser) if isinstance(metric, SupportedAfter)]
    return [
        RevisionScores(interval, scored.answerable, cell_answers.revised),
        *(build_judged_scoring(metric.names[0], metric, judging, 0) for metric in judged),
    ]
