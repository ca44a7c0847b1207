"""From scores per sample to metrics per subset, each with its count, what was left out and why, and an interval."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.metrics.interval import Bootstrap
from components.protocols import Metric
from components.records import Sample, Scores, ScoreState

OVERALL = "overall"


class Scored(NamedTuple):
    """Scores with the metric that can join them."""

    metric: Metric
    scores: Scores


def subsets_of(sample: Sample) -> list[str]:
    """Every subset that a sample counts in: overall, prefixes of its subset, its topic, its task, its matrix cell."""
    parts = sample.subset.split("/")
    names = [OVERALL, *("/".join(parts[:n]) for n in range(1, len(parts) + 1))]
    if sample.topic:
        names.append(f"topic/{sample.topic}")
    if sample.task:
        names.append(f"task/{sample.task}")
    if sample.topic and sample.task:
        names.append(f"matrix/{sample.topic}/{sample.task}")
    return names


def rows_by_subset(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Positions of the samples of every subset, overall first, in order of appearance."""
    rows: dict[str, list[int]] = defaultdict(list)
    for i, sample in enumerate(samples):
        for name in subsets_of(sample):
            rows[name].append(i)
    return dict(rows)


def aggregate(
    scored: Mapping[str, Scored], samples: Sequence[Sample], interval: Bootstrap
) -> dict[str, dict[str, dict[str, Any]]]:
    """`{subset: {metric: {value, n, n_excluded, ci_low, ci_high}}}`; value and interval are None where n is 0."""
    clusters = clusters_of(samples)
    return {subset: _subset(scored, rows, interval, clusters[rows]) for subset, rows in rows_by_subset(samples).items()}


def clusters_of(samples: Sequence[Sample]) -> NDArray[np.int64]:
    """Ids of the groups that the bootstrap draws as a whole, int64[n_samples]: samples whose first evidence is of the
    same document (the turns of a conversation, say) are not independent. A sample without evidence is its own group.
    """
    sources = [("document", s.gold[0].document_id) if s.gold else ("sample", s.id) for s in samples]
    number = {source: i for i, source in enumerate(dict.fromkeys(sources))}
    return np.array([number[source] for source in sources], dtype=np.int64)


def _subset(
    scored: Mapping[str, Scored], rows: list[int], interval: Bootstrap, clusters: NDArray[np.int64]
) -> dict[str, dict[str, Any]]:
    columns = [(scores.statistics[rows], partial(metric.combine, name)) for name, (metric, scores) in scored.items()]
    results = {}
    for (name, (_, scores)), bounds in zip(scored.items(), interval.intervals(columns, clusters), strict=True):
        states = Counter(scores.states[row] for row in rows)
        n = states.pop(ScoreState.VALUE, 0)
        results[name] = {
            "value": _finite(bounds.value),
            "n": n,
            "n_excluded": {state.value: count for state, count in sorted(states.items())},
            "ci_low": _finite(bounds.low),
            "ci_high": _finite(bounds.high),
        }
    return results


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
