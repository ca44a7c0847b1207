"""From scores per sample to metrics per subset, each with its count, what was left out and why, and an interval."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.clusters import clusters_of
from components.json_value import Json
from components.metrics.interval import Column, Intervals
from components.protocols import Metric
from components.records import Interval, Sample, Scores, ScoreState
from components.subsets import MACRO, subsets_of
from runner.pipeline.matrix_pooling import pooled_entries


class Scored(NamedTuple):
    """Scores with the metric that can join them."""

    metric: Metric
    scores: Scores


def rows_by_subset(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Positions of the samples of every subset, overall first, in order of appearance."""
    rows: dict[str, list[int]] = defaultdict(list)
    for i, sample in enumerate(samples):
        for name in subsets_of(sample.subset, sample.topic, sample.task):
            rows[name].append(i)
    return dict(rows)


def _rows_by_own_subset(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Positions of the samples by the data set's own subsets, each sample once: "read" without those of "read/qa"."""
    rows: dict[str, list[int]] = defaultdict(list)
    for i, sample in enumerate(samples):
        rows[sample.subset].append(i)
    return dict(rows)


def aggregate(
    scored: Mapping[str, Scored], samples: Sequence[Sample], interval: Intervals
) -> dict[str, dict[str, dict[str, Json]]]:
    """`{subset: {metric: {value, n, n_excluded, ci_low, ci_high, n_clusters, method}}}`: the samples that count are in
    `n_clusters` groups that depend on each other (`clusters_of`), and `method` made the interval from these. The value
    is None where n is 0; interval and method are None where there are too few groups for one. Fields of the topic x
    task matrix have `pooled`, `pooled_low` and `pooled_high` beside these.

    `macro`, where the samples are of several subsets, is the mean over these: a small one counts as much as a large
    one. Its `n_subsets` says how many had anything to score. (`overall` is the micro mean.)
    """
    clusters = clusters_of(samples)
    subsets = rows_by_subset(samples)
    columns = _columns(scored)
    rows = list(subsets.values())
    intervals = interval.of_subsets(columns, rows, clusters)
    metrics = dict(zip(subsets, _entries_of_subsets(scored, rows, intervals), strict=True))
    for name, column, own in zip(scored, columns, zip(*intervals, strict=True), strict=True):
        pooled = pooled_entries(list(subsets), own, interval.confidence, is_share=column.is_share)
        for subset, entry in pooled.items():
            metrics[subset][name] |= entry
    finest = list(_rows_by_own_subset(samples).values())
    if len(finest) > 1:
        metrics[MACRO] = _macro(scored, finest, interval, clusters)
    return metrics


def score_subsets(
    scored: Mapping[str, Scored], subsets: Sequence[list[int]], interval: Intervals, clusters: NDArray[np.int64]
) -> list[dict[str, dict[str, Json]]]:
    """For each of the subsets `{metric: {value, n, ...}}`; `clusters` are those of all samples."""
    return _entries_of_subsets(scored, subsets, interval.of_subsets(_columns(scored), subsets, clusters))


def _entries_of_subsets(
    scored: Mapping[str, Scored], subsets: Sequence[list[int]], intervals: Sequence[Sequence[Interval]]
) -> list[dict[str, dict[str, Json]]]:
    counts = [_state_counts(scores.states, subsets) for _, scores in scored.values()]
    return [_entries(scored, own, [c[i] for c in counts]) for i, own in enumerate(intervals)]


def _entries(
    scored: Mapping[str, Scored], intervals: Sequence[Interval], counts: Sequence[Counter[ScoreState]]
) -> dict[str, dict[str, Json]]:
    return {name: _entry(bounds, states) for name, bounds, states in zip(scored, intervals, counts, strict=True)}


def _state_counts(states: Sequence[ScoreState], subsets: Sequence[list[int]]) -> list[Counter[ScoreState]]:
    """How often each state is among the samples of every subset."""
    distinct = list(dict.fromkeys(states))
    if len(distinct) == 1:
        return [Counter({distinct[0]: len(rows)}) for rows in subsets]
    place = {state: i for i, state in enumerate(distinct)}
    codes = np.array([place[state] for state in states], dtype=np.int64)
    counts = [np.bincount(codes[rows], minlength=len(distinct)).tolist() for rows in subsets]
    return [Counter({state: n for state, n in zip(distinct, own, strict=True) if n}) for own in counts]


def _macro(
    scored: Mapping[str, Scored], subsets: Sequence[list[int]], interval: Intervals, clusters: NDArray[np.int64]
) -> dict[str, dict[str, Json]]:
    intervals = interval.of_mean(_columns(scored), subsets, clusters)
    results = {}
    for (name, (_, scores)), bounds in zip(scored.items(), intervals, strict=True):
        by_subset = _state_counts(scores.states, subsets)
        n_subsets = sum(states[ScoreState.VALUE] > 0 for states in by_subset)
        results[name] = {**_entry(bounds, sum(by_subset, Counter())), "n_subsets": n_subsets}
    return results


def _columns(scored: Mapping[str, Scored]) -> list[Column]:
    return [
        Column(scores.statistics, partial(metric.combine, name), getattr(metric, "is_share", True))
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
