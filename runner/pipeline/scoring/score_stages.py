"""Shared parts of all stages that score: metrics per subset, and scores per sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from components.json_value import Json
from components.metrics.interval import Intervals
from components.protocols import Metric
from components.records import Answer, AnswerState, Sample, Scores, ScoreState
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.scoring.aggregate import ScoredMetric, aggregate


@dataclass(frozen=True)
class Scoring:
    """The result of a stage that scores.

    `metrics` is `{subset: {metric: {value, n, ...}}}`. `scores` is a table with a row per sample. Its column
    `judge/<name>` has a judge's remark about each. `usage` counts a judge's requests and their tokens, including its
    preparation.
    """

    metrics: Mapping[str, Mapping[str, Json]]
    scores: pa.Table
    usage: Mapping[str, int | None]


SCORING = Columns(Scoring)

_ROUNDING = 1e-6
"""A mean of float32 values may leave [0, 1] by this much."""


def scoring(
    samples: Sequence[Sample], scored: Sequence[tuple[Metric, Mapping[str, Scores]]], interval: Intervals
) -> Scoring:
    """Return metrics per subset, and scores per sample. Raises ComponentError for a metric that breaks its contract."""
    flat: dict[str, ScoredMetric] = {}
    for metric, scores in scored:
        if set(scores) != set(metric.names):
            raise contract_error(metric, f"got {sorted(scores)}, expected one Scores for each of {list(metric.names)}")
        for name, score in scores.items():
            _require_finite(metric, name, score, samples)
            _require_shares(metric, name, score, samples)
        flat |= {name: ScoredMetric(metric, _drop_held_out(score, samples)) for name, score in scores.items()}
    return Scoring(aggregate(flat, samples, interval), _score_table(flat), {})


def _require_finite(metric: Metric, name: str, scores: Scores, samples: Sequence[Sample]) -> None:
    """Raise an error for values that are not finite. One NaN in a sum would look like a metric without values."""
    n_rows = len(scores.statistics), len(scores.values), len(scores.states)
    if set(n_rows) != {len(samples)}:
        raise contract_error(
            metric,
            f"{name} has {n_rows[0]} rows of statistics, {n_rows[1]} values and {n_rows[2]} states for {len(samples)} "
            "samples, expected one each",
        )
    is_wrong = ~np.isfinite(scores.statistics).all(axis=1)
    if not np.isnan(scores.values).all():  # all are NaN for a metric that is only defined over a corpus
        is_wrong |= _has_value(scores) & ~np.isfinite(scores.values)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise contract_error(
            metric,
            f"{name} of sample {samples[row].id!r} is {scores.values[row]}, its statistics are "
            f"{scores.statistics[row].tolist()}, its state is {scores.states[row].value!r} "
            f"(n={int(is_wrong.sum())} alike), expected finite numbers, or, for a sample without a value, zeros "
            "and the ScoreState of the reason",
        )


def _require_shares(metric: Metric, name: str, scores: Scores, samples: Sequence[Sample]) -> None:
    """Raise an error for values outside [0, 1]: the intervals of shares are limited to this range."""
    if not getattr(metric, "is_share", True):
        return
    remedy = "Fix the class, or set `is_share = False` in it"
    is_wrong = _has_value(scores) & ((scores.values < -_ROUNDING) | (scores.values > 1 + _ROUNDING))
    if is_wrong.any():
        row = int(is_wrong.argmax())
        problem = f"{name} of sample {samples[row].id!r} is {scores.values[row]:g} (n={int(is_wrong.sum())} alike)"
        raise contract_error(metric, f"{problem}, expected a share in [0, 1]", remedy)
    value = float(metric.combine(name, scores.statistics.sum(axis=0)))
    if value < -_ROUNDING or value > 1 + _ROUNDING:
        raise contract_error(metric, f"{name} of all samples is {value:g}, expected a share in [0, 1]", remedy)


def _has_value(scores: Scores) -> NDArray[np.bool_]:
    return np.array([state is ScoreState.VALUE for state in scores.states], dtype=bool)


def _drop_held_out(scores: Scores, samples: Sequence[Sample]) -> Scores:
    """Remove the values of samples that helped to choose a reranker. They would bias a mean in favour of the choice."""
    held_out = np.array([sample.held_out for sample in samples], dtype=bool)
    if not held_out.any():
        return scores
    return Scores(
        np.where(held_out[:, None], 0.0, scores.statistics),
        tuple(
            ScoreState.HELD_OUT if is_out else state
            for is_out, state in zip(held_out.tolist(), scores.states, strict=True)
        ),
        np.where(held_out, np.nan, scores.values),
    )


def _score_table(flat: Mapping[str, ScoredMetric]) -> pa.Table:
    """Return `score/<metric>` (null without a value) and `score_state/<metric>`.

    Metrics that are only defined over a corpus also have their summands in `score_statistics/<metric>`.
    """
    columns: dict[str, pa.Array] = {}
    for name, (_, scores) in flat.items():
        columns[f"score/{name}"] = pa.array(scores.values, pa.float64(), from_pandas=True)
        columns[f"score_state/{name}"] = pa.array([state.value for state in scores.states], pa.string())
        if np.isnan(scores.values).all() and ScoreState.VALUE in scores.states:
            columns[f"score_statistics/{name}"] = pa.array(list(scores.statistics), pa.list_(pa.float64()))
    return pa.table(columns)


class NotApplicableScores(Stage[Scoring], kind="not_applicable_scores", version=1, work=Work.BENCHMARK):
    """Metrics of retrieval in a cell that retrieves nothing: no sample has a value."""

    codec = SCORING

    metrics: Mapping[str, Metric]
    interval: Intervals
    samples: Stage[SampleSet]

    def make(self, run: Run) -> Scoring:
        """Return the state NOT_APPLICABLE for every sample."""
        samples = run.read(self.samples).samples
        none = Scores(
            np.zeros((len(samples), 2)),
            (ScoreState.NOT_APPLICABLE,) * len(samples),
            np.full(len(samples), np.nan),
        )
        scored = [(metric, dict.fromkeys(metric.names, none)) for metric in self.metrics.values()]
        return scoring(samples, scored, self.interval)


def mark_gold_outside_corpus(scores: Mapping[str, Scores], samples: Sequence[Sample]) -> dict[str, Scores]:
    """Change the state of samples whose gold is outside the corpus, because metrics see only gold in the corpus."""

    def of_sample(state: ScoreState, sample: Sample) -> ScoreState:
        return ScoreState.NO_GOLD_IN_CORPUS if state is ScoreState.NO_GOLD and sample.gold else state

    return {
        name: replace(metric_scores, states=tuple(map(of_sample, metric_scores.states, samples)))
        for name, metric_scores in scores.items()
    }


def rows_to_score(answers: Sequence[Answer]) -> tuple[list[int], list[ScoreState]]:
    """Return the positions of the answers that can be scored, and the state of every answer."""
    # A cell without a model has no answers by design, so none is missing from its means.
    exclusions = {AnswerState.ERROR: ScoreState.ANSWER_ERROR, AnswerState.NOT_ASKED: ScoreState.NOT_APPLICABLE}
    rows = [row for row, answer in enumerate(answers) if answer.state not in exclusions]
    return rows, [exclusions.get(answer.state, ScoreState.VALUE) for answer in answers]


def expand_scores(scores: Scores, rows: Sequence[int], states: Sequence[ScoreState]) -> Scores:
    """Return scores of some samples as scores of all. The others have no value, for the reason in `states`."""
    statistics = np.zeros((len(states), scores.statistics.shape[1]))
    values = np.full(len(states), np.nan)
    statistics[list(rows)], values[list(rows)] = scores.statistics, scores.values
    all_states = list(states)
    for row, state in zip(rows, scores.states, strict=True):
        all_states[row] = state
    return Scores(statistics, tuple(all_states), values)
