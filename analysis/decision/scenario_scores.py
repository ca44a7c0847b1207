"""Scenarios (all samples, each subset, topic and task), and the scores of cells in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.decision.design import Levels
from components.errors import DataError
from components.statistics import Contributions, SampleScores, contributions
from components.subsets import GROUPINGS, MACRO, OVERALL
from runner.results import (
    DRAWS,
    OK,
    CellResult,
    CommonSamples,
    LoadedSweep,
    SampleKey,
    SampleReader,
    SubsetMetric,
    average_draws,
    axis_levels,
    collect_labels,
    depends_on_prompt,
    put_most_samples_first,
    varying_axes,
    without_bounds,
)

MIN_SAMPLES, MIN_CLUSTERS = 10, 5
"""With fewer, no level and no cell is called the best."""

ALL, SUBSET = "all", "subset"
"""Kinds of scenarios. The others are "topic", "task" and "matrix"."""

_SHOWN_FIRST = (ALL, SUBSET, "task", "topic")
_NOT_CHOSEN = ("dataset", "metrics", "judge")
"""Groups of axes that define the measurement. Better values are not a reason to choose one of their options."""


@dataclass(frozen=True)
class Scenario:
    """A subset with its label for readers. `same_as` lists further subsets with the same samples."""

    subset: str
    label: str
    kind: str
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoredCells:
    """Scores of cells on the samples of a scenario that all of them have."""

    scenario: Scenario
    samples: CommonSamples
    larger_is_better: bool
    weighs_tokens: bool

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """The cells that have samples in common."""
        return self.samples.cells

    @property
    def n(self) -> int:
        """Number of samples that all cells have."""
        return self.samples.n

    @cached_property
    def n_clusters(self) -> int:
        """Number of groups of dependent samples."""
        return len(np.unique(self.samples.clusters))

    @property
    def has_enough_samples(self) -> bool:
        """True if there are enough samples and groups to call anything the best."""
        return self.n >= MIN_SAMPLES and self.n_clusters >= MIN_CLUSTERS

    @cached_property
    def contributions(self) -> Contributions:
        """Contributions of the groups of samples to the metric of every cell."""
        return contributions(self.scores)

    @property
    def scores(self) -> SampleScores:
        """The scores as input of the statistics."""
        samples = self.samples
        return SampleScores(samples.statistics, samples.clusters, samples.strata, samples.combine)

    def orient(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Flip the sign of values if smaller ones are better."""
        return values if self.larger_is_better else -values

    @cached_property
    def levels(self) -> Levels:
        """Level of every cell on the axes that vary, as text by axis."""
        all_levels = axis_levels(self.cells)
        return {axis: all_levels[axis] for axis in varying_axes(self.cells)}

    @property
    def axes(self) -> list[str]:
        """Axes to choose on: not the data, the metrics, the judge, or the number of a draw."""
        return [axis for axis in self.levels if axis not in DRAWS and axis.split(".")[0] not in _NOT_CHOSEN]

    @cached_property
    def unseen_axes(self) -> list[str]:
        """Axes that change no sample's value, as `top_k` changes no ranking."""
        return [axis for axis in self.axes if not self._is_affected_by(axis)]

    def _is_affected_by(self, axis: str) -> bool:
        values: dict[tuple[str | None, ...], set[bytes]] = {}
        for index in range(len(self.cells)):
            other_levels = tuple(levels[index] for name, levels in self.levels.items() if name != axis)
            values.setdefault(other_levels, set()).add(self.samples.statistics[:, index].tobytes())
        return any(len(distinct) > 1 for distinct in values.values()) or len(values) == len(self.cells)


@dataclass(frozen=True)
class ScenarioScores:
    """Scores of a metric by scenario. Files are read once, on the first request for a scenario."""

    sweep: LoadedSweep
    metric: SubsetMetric
    _reader: SampleReader
    _found: dict[str, ScoredCells | None] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, sweep: LoadedSweep, metric: str | SubsetMetric) -> "ScenarioScores":
        """Prepare reading "[subset:]metric". Raises DataError for an unknown metric, and for a metric without a
        better direction.
        """
        parsed = sweep.metric(metric) if isinstance(metric, str) else metric
        parsed.direction()
        return cls(sweep, parsed, SampleReader(sweep.folder_of, parsed.metric))

    def for_metric(self, metric: SubsetMetric) -> ScoredCells:
        """Return the scores in the metric's subset. Raises DataError if fewer than two cells have a value."""
        scored = self.in_subset(metric.subset)
        if scored is None:
            raise DataError(f"{self.sweep.name}: fewer than two cells with a value of {metric}, expected at least two")
        return scored

    def in_subset(self, subset: str) -> ScoredCells | None:
        """Return the scores in a subset; None if no sample has a value in two cells."""
        if subset not in self._found:
            self._found[subset] = self._read(subset)
        return self._found[subset]

    def _read(self, subset: str) -> ScoredCells | None:
        name = self.metric.metric
        valued = [cell for cell in self.sweep.cells if cell.status == OK and cell.value(name, subset) is not None]
        valued = without_bounds(valued)
        if len(valued) < 2:
            return None
        samples = average_draws(
            self._reader.common(put_most_samples_first(valued, name, subset), subset), self.sweep.folder_of
        )
        scenario = Scenario(subset, self._label(subset), _kind(subset))
        if len(samples.cells) < 2:
            return None
        return ScoredCells(scenario, samples, self.metric.direction(), self.weighs_tokens)

    @cached_property
    def weighs_tokens(self) -> bool:
        """True if the tokens of prompts count among the costs, because prompts affect the metric."""
        valued = [cell for cell in self.sweep.cells if self.metric.value(cell) is not None]
        return not valued or depends_on_prompt(valued[0], self.metric.metric)

    def scenarios(self) -> list[ScoredCells]:
        """Return all samples first, then subsets, tasks and topics. Scenarios with the same samples are returned once.
        If the metric names a subset, return only this subset.
        """
        if self.metric.subset not in (OVERALL, MACRO):
            return [self.for_metric(self.metric)]
        by_keys: dict[tuple[SampleKey, ...], ScoredCells] = {}
        for scored in (self.for_metric(self.metric), *self._of_kinds(_SHOWN_FIRST[1:])):
            keys = scored.samples.keys
            first = by_keys.setdefault(keys, scored)
            if first is not scored:
                by_keys[keys] = replace(first, scenario=_merge_scenarios(first.scenario, scored.scenario))
        return list(by_keys.values())

    def _of_kinds(self, kinds: Sequence[str]) -> Iterator[ScoredCells]:
        names = sorted({name for cell in self.sweep.cells for name in cell.metrics})  # subsets come before their parts
        for kind in kinds:
            for name in names:
                if _kind(name) == kind and (scored := self.in_subset(name)):
                    yield scored

    def _label(self, subset: str) -> str:
        labels = collect_labels(self.sweep.cells)
        if subset in (OVERALL, MACRO):
            return {OVERALL: "All samples", MACRO: "All subsets alike"}[subset]
        slugs = subset.split("/")[1:] if _kind(subset) not in (ALL, SUBSET) else [subset]
        return " / ".join(labels.get(slug, slug) for slug in slugs)


def _merge_scenarios(first: Scenario, same: Scenario) -> Scenario:
    """Return the scenario with the label of its part, if a part contains all of its samples ("create/continuation")."""
    says_more = same.subset.startswith(f"{first.subset}/") and same.label != same.subset
    return replace(first, label=same.label if says_more else first.label, same_as=(*first.same_as, same.subset))


def _kind(subset: str) -> str:
    if subset in (OVERALL, MACRO):
        return ALL
    group = subset.split("/")[0]
    return group if group in GROUPINGS else SUBSET
