"""Finds for a metric of planned cells the samples that can have a value, and the cells that can differ in it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from components.directions import metric_larger_is_better
from components.protocols import ContextMetric, Metric, RankingMetric
from components.records import Documents, Sample, ScoreState
from runner.engine.store import Store
from runner.engine.worker import read_cached
from runner.pipeline.corpus.document_table import read_documents
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.sample_codec import decode_samples
from runner.pipeline.planned_cells import PlannedCell
from runner.pipeline.scorable_samples import (
    ScoringStage,
    can_have_value,
    find_metric_component,
    trial_key,
    trial_states,
)
from runner.results.cell_axes import varying_axes
from runner.results.cell_choice import without_bounds


@dataclass(frozen=True)
class PlannedMetric:
    """A metric that planned cells will compute.

    `cells` can have a value of the metric, and `keys` are the keys of their scoring stages: cells with equal keys will
    be equal. `rows` are the positions of the samples for which all of these cells can have a value. `left_out` counts
    the other samples by reason. If the metric `waits`, only judges' replies or citations decide which samples have one.
    """

    name: str
    metric: Metric
    cells: tuple[PlannedCell, ...]
    keys: tuple[str, ...]
    rows: NDArray[np.intp]
    left_out: Mapping[str, int]
    waits: bool

    @property
    def n_different(self) -> int:
        """Number of cells that can differ from each other."""
        return len(set(self.keys))

    def unseen_axes(self) -> list[str]:
        """Return the axes that change no value of the metric, as `top_k` changes no ranking."""
        axes = varying_axes([cell.axes for cell in self.cells])
        if self.n_different == len(self.cells):
            return []
        return axes if self.n_different == 1 else [axis for axis in axes if not self._depends_on(axis, axes)]

    def _depends_on(self, axis: str, axes: Sequence[str]) -> bool:
        """Return True if cells that differ only in the axis can differ in the metric, or if no such cells exist."""
        keys: dict[str, list[str]] = {}
        for cell, key in zip(self.cells, self.keys, strict=True):
            other_levels = repr([cell.axes.get(other) for other in axes if other != axis])
            keys.setdefault(other_levels, []).append(key)
        compared = [group for group in keys.values() if len(group) > 1]
        return not compared or any(len(set(group)) > 1 for group in compared)


class PlannedMetrics:
    """Metrics of planned cells over one data set. The plan has loaded the data, so that no further stage runs.

    Upper bounds take no part: they are not compared with others.
    """

    def __init__(self, cells: Sequence[PlannedCell], data: DatasetStages, store: Store) -> None:
        self._cells = without_bounds(cells)
        self._documents: Callable[[], Documents] = cache(
            lambda: read_cached(data.loaded, store, lambda entry: read_documents(entry.parts()))
        )
        self.samples: Sequence[Sample] = read_cached(
            data.loaded, store, lambda entry: decode_samples(entry.parts()["samples"])
        )
        self.by_name = {name: metric for cell in cells for name, metric in cell.request.cell.computed_metrics.items()}
        self._trials: dict[str, list[ScoreState]] = {}

    def first(self, names: Sequence[str]) -> PlannedMetric | None:
        """Return the first of these metrics that ranks cells and can have a value, or None."""
        return next(self.ranking(names), None)

    def ranking(self, names: Sequence[str]) -> Iterator[PlannedMetric]:
        """Yield the metrics in `names` that rank cells and can have a value."""
        for name in dict.fromkeys(names):
            if name in self.by_name and metric_larger_is_better(self.by_name[name], name) is not None:
                metric = self.plan_metric(name)
                if len(metric.rows):
                    yield metric

    def find_more_sensitive(self, metric: PlannedMetric, names: Sequence[str]) -> PlannedMetric | None:
        """Return the first metric in `names` in which more cells can differ than in `metric`, or None.

        If `metric` is a metric of retrieval, the result is one too.
        """
        kinds = (RankingMetric, ContextMetric)
        alike = [
            name for name in names if isinstance(self.by_name.get(name), kinds) or not isinstance(metric.metric, kinds)
        ]
        shares = [name for name in alike if getattr(self.by_name.get(name), "is_share", True)]
        return next((each for each in self.ranking(shares) if each.n_different > metric.n_different), None)

    def plan_metric(self, name: str) -> PlannedMetric:
        """Return a metric in `by_name`. Raises ComponentError if the metric of another package fails in its trial."""
        scorings = [(cell, stage) for cell in self._cells if (stage := _scoring(cell, name))]
        trials = [self._trial(stage, name) for _, stage in scorings]
        scored = [index for index, states in enumerate(trials) if any(map(can_have_value, states))]
        # Most cells share a trial.
        distinct = {id(states): states for states in [trials[index] for index in scored] or trials}.values()
        reasons: list[ScoreState | None] = [None] * len(self.samples)
        for states in distinct:
            left_out = [None if can_have_value(state) else state for state in states]
            reasons = [first or second for first, second in zip(reasons, left_out, strict=True)]
        rows = [row for row, reason in enumerate(reasons) if reason is None and scored]
        return PlannedMetric(
            name,
            self.by_name[name],
            tuple(scorings[index][0] for index in scored),
            tuple(scorings[index][1].key for index in scored),
            np.array(rows, dtype=np.intp),
            Counter(str(reason) for reason in reasons if reason),
            any(states[row] is not ScoreState.VALUE for states in distinct for row in rows),
        )

    def _trial(self, stage: ScoringStage, name: str) -> list[ScoreState]:
        key = trial_key(stage, name)
        if key not in self._trials:
            self._trials[key] = trial_states(stage, name, self.samples, self._documents)
        return self._trials[key]


def _scoring(cell: PlannedCell, name: str) -> ScoringStage | None:
    """Return the stage that computes the metric, or None for a cell without it."""
    stages = cell.graph.result.scorings
    return next(
        (stage for stage in stages if isinstance(stage, ScoringStage) and find_metric_component(stage, name)), None
    )
