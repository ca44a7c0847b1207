"""Finds the samples for which a metric can have a value, before any work is done.

Each metric excludes samples by a rule of its class, so we run it on a trial: nothing is retrieved, every answer is one
word, and every request to a judge fails.
"""

from collections.abc import Callable, Sequence

import numpy as np

from components.protocols import AnswerMetric, ContextMetric, JudgedMetric, Metric, RankingMetric
from components.records import (
    Answer,
    AnswerState,
    Context,
    Documents,
    JudgeInput,
    Passage,
    Request,
    Sample,
    Scores,
    ScoreState,
    TextsWithUnits,
)
from components.text.units import number_units
from runner.engine.broken_contracts import name_class_in_errors
from runner.engine.stage import Stage
from runner.pipeline.answers.answer_stages import NoAnswers
from runner.pipeline.answers.prompt_passages import NoPassages
from runner.pipeline.ranking.selecting import ReportedSamples
from runner.pipeline.scoring.answer_scores import AnswerScores
from runner.pipeline.scoring.citation_scores import CitationScores, UncitedAnswers
from runner.pipeline.scoring.judging import JudgedAnswers, JudgedScores, prepare_judge
from runner.pipeline.scoring.retrieval_scores import ContextScores, RankingScores, relevant_documents
from runner.pipeline.scoring.score_stages import mark_gold_outside_corpus

ScoringStage = RankingScores | ContextScores | AnswerScores | CitationScores | JudgedScores

_LEFT_OUT = {
    ScoreState.NOT_APPLICABLE,
    ScoreState.NO_GOLD,
    ScoreState.NO_GOLD_IN_CORPUS,
    ScoreState.HELD_OUT,
    ScoreState.NOT_DRAWN,
}
"""States that exclude a sample. Other states, such as a failed request, depend on the results of the sweep."""

_WORD = "1"


def can_have_value(state: ScoreState) -> bool:
    """Return True if a sample with this state in the trial can have a value in the sweep."""
    return state not in _LEFT_OUT


def find_metric_component(stage: ScoringStage, name: str) -> Metric | None:
    """Return the metric of this name that a stage computes, None if it does not compute it."""
    metrics = [stage.metric] if isinstance(stage, JudgedScores) else stage.metrics.values()
    return next((metric for metric in metrics if name in metric.names), None)


def trial_key(stage: ScoringStage, name: str) -> str:
    """Return a key that is equal for stages with equal trials of a metric."""
    has_passages = not isinstance(getattr(stage, "passages", None), NoPassages)
    has_answers = not isinstance(_find_answers(stage), NoAnswers)
    part = stage.part if isinstance(stage, JudgedScores) else None
    return repr(
        (type(stage), name, find_metric_component(stage, name), stage.samples.key, has_passages, has_answers, part)
    )


def trial_states(
    stage: ScoringStage, name: str, samples: Sequence[Sample], read_documents: Callable[[], Documents]
) -> list[ScoreState]:
    """Return the state of every sample in the trial. `read_documents` returns the corpus, for metrics that read gold.

    Raises ComponentError if a metric of another package raises an error in the trial.
    """
    metric = find_metric_component(stage, name)
    assert metric is not None, "the stage computes it"
    answers = _find_answers(stage)
    if isinstance(answers, NoAnswers):
        return [ScoreState.NOT_APPLICABLE] * len(samples)
    remedy = "Fix the class: see components/protocols/metrics.py"
    with name_class_in_errors(metric, "cannot score a trial with no passages and one-word answers", remedy):
        states = _scores(stage, metric, samples, read_documents)[name].states
    if isinstance(stage, JudgedScores):
        states = tuple(reason or state for reason, state in zip(stage.left_out(samples), states, strict=True))
    if not isinstance(stage.samples, ReportedSamples):
        return list(states)
    held_out = stage.samples.split.draw_samples(samples, set(read_documents().ids)).tolist()
    return [ScoreState.HELD_OUT if is_out else state for is_out, state in zip(held_out, states, strict=True)]


def _find_answers(stage: ScoringStage) -> Stage[Sequence[Answer]] | None:
    """Return the answers that are scored, None for a metric that reads no answers."""
    if isinstance(stage, JudgedScores):
        return stage.judged.answers if isinstance(stage.judged, JudgedAnswers) else None
    answers = getattr(stage, "answers", None)
    return answers.answers if isinstance(answers, UncitedAnswers) else answers


def _scores(
    stage: ScoringStage, metric: Metric, samples: Sequence[Sample], read_documents: Callable[[], Documents]
) -> dict[str, Scores]:
    nothing: list[list[tuple[int, int, int]]] = [[] for _ in samples]
    if isinstance(stage, JudgedScores):
        passages = () if isinstance(stage.passages, NoPassages) else (Passage(_WORD),)
        inputs = [JudgeInput(sample, _WORD, passages) for sample in samples]
        return _judge_trial(stage.metric, inputs, read_documents)
    if isinstance(metric, AnswerMetric):
        return _score_answers(metric, samples)
    documents = read_documents()
    if isinstance(metric, RankingMetric):
        present = set(documents.ids)
        relevant = [relevant_documents(sample.gold, present) for sample in samples]
        scores = metric.score_rankings([[] for _ in samples], relevant)
    elif isinstance(metric, ContextMetric):
        n_tokens = np.zeros(len(samples), dtype=np.int64)
        context = Context(np.full((len(samples), 1), -1, dtype=np.int32), n_tokens, n_tokens)
        scores = metric.score_contexts(samples, documents, nothing, context)
    else:
        assert isinstance(stage, CitationScores), "no other kind of metric exists"
        cited = next(each for each in stage.metrics.values() if each is metric)
        scores = cited.score_citations(samples, documents, [_WORD] * len(samples), [[] for _ in samples])
    return mark_gold_outside_corpus(scores, samples)


def _score_answers(metric: AnswerMetric, samples: Sequence[Sample]) -> dict[str, Scores]:
    # A metric with a model loads it only for texts that are not empty.
    answers = ["" if hasattr(metric, "model") else _WORD] * len(samples)
    references = [reference for sample in samples for reference in sample.references]
    return metric.score_answers(samples, _split_into_units(metric, answers), _split_into_units(metric, references))


def _split_into_units(metric: AnswerMetric, texts: Sequence[str]) -> TextsWithUnits:
    return TextsWithUnits(texts, number_units(metric.form.units(texts))) if metric.form else TextsWithUnits(texts)


def _judge_trial(
    metric: JudgedMetric, inputs: Sequence[JudgeInput], read_documents: Callable[[], Documents]
) -> dict[str, Scores]:
    prepared = prepare_judge(metric, [each.sample for each in inputs], read_documents, _fail)
    return dict(metric.judge(inputs, prepared, _fail).scores)


def _fail(requests: Sequence[Request]) -> list[Answer]:
    return [Answer(request.id, AnswerState.ERROR, error="not sent") for request in requests]
