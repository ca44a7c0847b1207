"""Aggregates scores per sample to metrics per subset, with counts, exclusions and confidence intervals."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.clusters import number_clusters
from components.errors import ComponentError
from components.json_value import Json
from components.means import combine_copy, combine_mean
from components.metrics.interval import Column, Intervals
from components.protocols import Metric
from components.records import Interval, Sample, Scores, ScoreState
from components.subsets import BY_CONVERSATION, MACRO, TURN, ConversationTurn, conversation_turns, list_subsets
from runner.pipeline.scoring.matrix_pooling import pooled_entries


class ScoredMetric(NamedTuple):
    """Scores with the metric that can aggregate them."""

    metric: Metric
    scores: Scores


def rows_by_subset(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Return the positions of the samples of every subset, overall first, in order of appearance."""
    rows: dict[str, list[int]] = defaultdict(list)
    for i, sample in enumerate(samples):
        for name in list_subsets(sample.subset, sample.topic, sample.task):
            rows[name].append(i)
    return dict(rows)


def _rows_by_own_subset(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Return the positions of the samples by the data set's own subsets, each sample once.

    "read" does not include the samples of "read/qa".
    """
    rows: dict[str, list[int]] = defaultdict(list)
    for i, sample in enumerate(samples):
        rows[sample.subset].append(i)
    return dict(rows)


def aggregate(
    scored: Mapping[str, ScoredMetric], samples: Sequence[Sample], interval: Intervals
) -> dict[str, dict[str, dict[str, Json]]]:
    """Return `{subset: {metric: {value, n, n_excluded, ci_low, ci_high, n_clusters, method}}}`.

    The samples that count form `n_clusters` groups of dependent samples (`interval.groups`). `method` computed the
    interval from these groups. The value is None if n is 0. Interval and method are None if there are too few groups.
    Entries of the topic x task matrix also have `pooled`, `pooled_low` and `pooled_high`.

    `overall` is the micro mean. `macro`, if there are several subsets, is the mean over subsets, each with the same
    weight. Its `n_subsets` counts the subsets with a value. With `interval.by_turn`, `turn/1` has the first turns of
    conversations, and so on. `turn/by_conversation` is the mean over conversations of each conversation's metric, and
    its `n_conversations` counts the conversations with a value.
    """
    clusters = number_clusters(samples, interval.groups)
    turns = _turns(samples) if interval.by_turn else [None] * len(samples)
    subsets = rows_by_subset(samples) | _rows_by_turn(turns)
    columns = _columns(scored)
    rows = list(subsets.values())
    intervals = interval.subset_intervals(columns, rows, clusters)
    metrics = dict(zip(subsets, _subset_entries(scored, rows, intervals), strict=True))
    for name, column, metric_intervals in zip(scored, columns, zip(*intervals, strict=True), strict=True):
        pooled = pooled_entries(list(subsets), metric_intervals, interval.confidence, is_share=column.is_share)
        for subset, entry in pooled.items():
            metrics[subset][name] |= entry
    finest = list(_rows_by_own_subset(samples).values())
    if len(finest) > 1:
        metrics[MACRO] = _macro(scored, finest, interval, clusters)
    if any(turns):
        metrics[BY_CONVERSATION] = _over_conversations(scored, turns, interval, clusters)
    return metrics


def _turns(samples: Sequence[Sample]) -> list[ConversationTurn | None]:
    return conversation_turns([(*(turn.question for turn in s.history), s.question) for s in samples])


def _rows_by_turn(turns: Sequence[ConversationTurn | None]) -> dict[str, list[int]]:
    """Return the positions of the turns of each number, in order, without samples outside conversations."""
    numbers = sorted({turn.number for turn in turns if turn})
    return {f"{TURN}/{n}": [row for row, turn in enumerate(turns) if turn and turn.number == n] for n in numbers}


def _over_conversations(
    scored: Mapping[str, ScoredMetric],
    turns: Sequence[ConversationTurn | None],
    interval: Intervals,
    clusters: NDArray[np.int64],
) -> dict[str, dict[str, Json]]:
    """Compute the mean over conversations. A conversation's value comes from the sums over its turns."""
    conversations: dict[str, list[int]] = defaultdict(list)
    for row, turn in enumerate(turns):
        if turn:
            conversations[turn.opening].append(row)
    rows = list(conversations.values())
    turn_rows_in_order = [row for turn_rows in rows for row in turn_rows]
    columns = []
    for column in _columns(scored):
        values = column.combine(np.array([column.statistics[turn_rows].sum(axis=0) for turn_rows in rows]))
        is_known = np.isfinite(values)
        statistics = np.column_stack([np.where(is_known, values, 0.0), is_known.astype(np.float64)])
        columns.append(Column(statistics, combine_mean, column.is_share))
    (bounds,) = interval.subset_intervals(columns, [slice(None)], clusters[[turn_rows[0] for turn_rows in rows]])
    return {
        name: {
            **_entry(bound, _state_counts(scores.states, [turn_rows_in_order])[0]),
            "n_conversations": int(column.statistics[:, 1].sum()),
        }
        for (name, (_, scores)), bound, column in zip(scored.items(), bounds, columns, strict=True)
    }


def score_subsets(
    scored: Mapping[str, ScoredMetric], subsets: Sequence[list[int]], interval: Intervals, clusters: NDArray[np.int64]
) -> list[dict[str, dict[str, Json]]]:
    """Return `{metric: {value, n, ...}}` for each of the subsets. `clusters` are the groups of all samples."""
    return _subset_entries(scored, subsets, interval.subset_intervals(_columns(scored), subsets, clusters))


def _subset_entries(
    scored: Mapping[str, ScoredMetric], subsets: Sequence[list[int]], intervals: Sequence[Sequence[Interval]]
) -> list[dict[str, dict[str, Json]]]:
    counts = [_state_counts(scores.states, subsets) for _, scores in scored.values()]
    for named_scores, bounds in zip(scored.items(), zip(*intervals, strict=True), strict=True):
        _require_values(*named_scores, subsets, [bound.value for bound in bounds])
    return [_entries(scored, subset_intervals, [c[i] for c in counts]) for i, subset_intervals in enumerate(intervals)]


def _require_values(
    name: str, scored: ScoredMetric, subsets: Sequence[list[int]], values: Sequence[float | None]
) -> None:
    """Raise ComponentError for an infinite value, and for an undefined value over all samples if any has a score.

    A small subset may have an undefined value.
    """
    for rows, value in zip(subsets, values, strict=True):
        is_undefined = value is None or np.isnan(value)
        is_refused = len(rows) == len(scored.scores.states) if is_undefined else value in (np.inf, -np.inf)
        if is_refused and (n := sum(scored.scores.states[row] is ScoreState.VALUE for row in rows)):
            raise ComponentError(
                f"{type(scored.metric).__name__}.combine: got {value} for {name} from the scores of {n} samples, "
                "expected a finite number"
            )


def _entries(
    scored: Mapping[str, ScoredMetric], intervals: Sequence[Interval], counts: Sequence[Counter[ScoreState]]
) -> dict[str, dict[str, Json]]:
    return {name: _entry(bounds, states) for name, bounds, states in zip(scored, intervals, counts, strict=True)}


def _state_counts(states: Sequence[ScoreState], subsets: Sequence[list[int]]) -> list[Counter[ScoreState]]:
    """Count each state among the samples of every subset."""
    distinct = list(dict.fromkeys(states))
    if len(distinct) == 1:
        return [Counter({distinct[0]: len(rows)}) for rows in subsets]
    code_of = {state: i for i, state in enumerate(distinct)}
    codes = np.array([code_of[state] for state in states], dtype=np.int64)
    counts = [np.bincount(codes[rows], minlength=len(distinct)).tolist() for rows in subsets]
    return [Counter({state: n for state, n in zip(distinct, numbers, strict=True) if n}) for numbers in counts]


def _macro(
    scored: Mapping[str, ScoredMetric], subsets: Sequence[list[int]], interval: Intervals, clusters: NDArray[np.int64]
) -> dict[str, dict[str, Json]]:
    intervals = interval.mean_intervals(_columns(scored), subsets, clusters)
    results = {}
    for (name, (_, scores)), bounds in zip(scored.items(), intervals, strict=True):
        by_subset = _state_counts(scores.states, subsets)
        n_subsets = sum(states[ScoreState.VALUE] > 0 for states in by_subset)
        results[name] = {**_entry(bounds, sum(by_subset, Counter())), "n_subsets": n_subsets}
    return results


def _columns(scored: Mapping[str, ScoredMetric]) -> list[Column]:
    return [
        Column(scores.statistics, partial(combine_copy, metric.combine, name), getattr(metric, "is_share", True))
        for name, (metric, scores) in scored.items()
    ]


def _entry(bounds: Interval, states: Counter[ScoreState]) -> dict[str, Json]:
    excluded = {state.value: n for state, n in sorted(states.items()) if state is not ScoreState.VALUE}
    return {
        "value": _finite(bounds.value),
        "n": states[ScoreState.VALUE],
        "n_excluded": excluded,
        "ci_low": _finite(bounds.low),
        "ci_high": _finite(bounds.high),
        "n_clusters": bounds.n_clusters,
        "method": bounds.method and bounds.method.value,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
