"""The cells of a sweep, as requested and as planned. Requests for the same work become one cell."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from components.errors import ConfigError
from components.json_value import Json
from components.protocols import Dataset
from runner.engine.outdated_results import ALL
from runner.engine.plan import Plan, make_plan
from runner.engine.store import Store
from runner.pipeline.answers.corpus_in_prompts import CorpusInPrompts, corpus_in_prompts
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph, build_graph
from runner.pipeline.component_conflicts import data_problems
from runner.pipeline.corpus.loaded_data import DatasetStages, load_data
from runner.pipeline.memory_estimate import memory_lines
from runner.pipeline.settings import RunSettings


@dataclass(frozen=True)
class Job:
    """One composed configuration, plain and resolved, with its axes by short name and its overrides."""

    config: Mapping[str, Json]
    axes: Mapping[str, Json]
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class CellRequest:
    """A job, and the cell that was built from its configuration."""

    cell: Cell
    job: Job


@dataclass(frozen=True)
class PlannedCell:
    """One cell. Requests that differ only in options that the cell does not use belong to the same cell.

    `pool` is the loaded data set of its few-shot examples, or None if its prompts have no examples. `lines` are facts
    for the plan.
    """

    cell_id: str
    request: CellRequest
    graph: Graph
    same_as: tuple[CellRequest, ...] = ()
    pool: DatasetStages | None = None
    lines: tuple[str, ...] = ()

    @property
    def axes(self) -> dict[str, Json]:
        """The axes that can change a result. An axis that this cell does not use is None.

        If equal requests differ in an axis, the cell does not use it. `dataset.key` distinguishes data sets of
        the same name.
        """
        other_axes = [request.job.axes for request in self.same_as]
        used_axes = {
            name: value if self._is_used(name) and all(axes.get(name) == value for axes in other_axes) else None
            for name, value in self.request.job.axes.items()
        }
        return {**used_axes, "dataset.key": self.graph.data.key[:8]}

    def _is_used(self, name: str) -> bool:
        group, _, field = name.partition(".")
        is_of_another = group == "pipeline" and field and self.request.cell.pipeline.is_built_in
        return group in self.graph.used and not is_of_another


@dataclass(frozen=True)
class SweepPlan:
    """The cells, and the work that remains to be done for them."""

    cells: tuple[PlannedCell, ...]
    plan: Plan

    @property
    def n_requested(self) -> int:
        """Number of cells that were requested, before equal ones were merged."""
        return sum(1 + len(cell.same_as) for cell in self.cells)

    def summary(self) -> dict[str, Json]:
        """Return the counts for `sweep.json`."""
        return {"n_cells": len(self.cells), "n_requested": self.n_requested, **self.plan.summary()}


LoadedDatasets = list[tuple[Dataset, DatasetStages]]
"""Loaded data sets. Not a dictionary: a data set with a mapping among its fields has no hash."""


def plan_sweep(
    requests: Sequence[CellRequest],
    store: Store,
    announce: Callable[[str], None] = lambda line: None,
    loaded: LoadedDatasets | None = None,
) -> SweepPlan:
    """Plan the cells, in the order requested, and all their stages. Requests for the same work become one cell.

    `announce` receives a line for each data set that is not cached and has to be loaded, which may take a while. Data
    sets in `loaded` are not loaded again, and others are added to it. Raises DataError if a data set has errors, and
    ConfigError if components do not suit a data set.
    """
    cells = plan_cells(requests, store, announce, [] if loaded is None else loaded)
    return SweepPlan(cells, _make_plan(cells, store, requests[0].cell.run.fresh))


def plan_cells(
    requests: Sequence[CellRequest], store: Store, announce: Callable[[str], None], loaded: LoadedDatasets
) -> tuple[PlannedCell, ...]:
    """Return the cells of `plan_sweep`, without the plan of their stages."""
    planned: dict[str, PlannedCell] = {}
    problems: list[str] = []
    in_prompts: dict[str, CorpusInPrompts] = {}
    memory: dict[object, str] = {}

    def load(dataset: Dataset, run: RunSettings) -> DatasetStages:
        data = next((data for loaded_dataset, data in loaded if loaded_dataset == dataset), None)
        if data is None:
            data = load_data(dataset, store, announce, run.documents_per_block, () if run.plan_only else run.fresh)
            loaded.append((dataset, data))
        return data

    for request in requests:
        run, examples = request.cell.run, request.cell.examples
        data = load(request.cell.dataset, run)
        pool = load(examples.dataset, run) if examples.n and examples.dataset else None
        prompt_corpus = corpus_in_prompts(request.cell, data, store, in_prompts)
        problems += [*data_problems(request.cell, data, pool, store), *prompt_corpus.problems]
        graph = build_graph(request.cell, data, pool)
        equal_cell = planned.get(graph.result.key)
        if equal_cell is None:
            lines = (*prompt_corpus.lines, *memory_lines(request.cell, graph, store, memory))
            planned[graph.result.key] = PlannedCell(graph.result.key[:12], request, graph, pool=pool, lines=lines)
        else:
            planned[graph.result.key] = replace(equal_cell, same_as=(*equal_cell.same_as, request))
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return tuple(planned.values())


def collect_plan(cells: Sequence[PlannedCell], store: Store) -> SweepPlan:
    """Return the plan of some cells of a search. They may lack kinds of stages that `run.fresh` names."""
    kinds = {ALL, *(stage.kind for cell in cells for stage in cell.graph.result.upstream())}
    fresh = [kind for kind in cells[0].request.cell.run.fresh if kind in kinds]
    return SweepPlan(tuple(cells), _make_plan(cells, store, fresh))


def drop_stopped_cells(plan: SweepPlan, stopped: Collection[str], store: Store) -> SweepPlan:
    """Return the plan without the cells that a race or the user stopped, by id.

    Their stages run only if other cells need them.
    """
    cells = tuple(cell for cell in plan.cells if cell.cell_id not in stopped)
    return SweepPlan(cells, _make_plan(cells, store))


def _make_plan(cells: Sequence[PlannedCell], store: Store, fresh: Collection[str] = ()) -> Plan:
    return make_plan([(cell.graph.result, 1 + len(cell.same_as)) for cell in cells], store, fresh)
