"""The plan of a sweep: the union of its cells' graphs, what of it is in the store already, and the order of the rest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.cell import Cell
from runner.stage import Stage
from runner.stages import LANES, Data, Graph, data_of, data_stage, graph_of
from runner.store import Store


@dataclass(frozen=True)
class CellRequest:
    """A cell as it was asked for: its components, the axes by short name, the overrides, the whole configuration."""

    cell: Cell
    axes: dict[str, Any]
    overrides: tuple[str, ...]
    config: dict[str, Any]


@dataclass(frozen=True)
class PlannedCell:
    """One experiment; several requests are the same one if they differ only in what it does not use."""

    cell_id: str
    request: CellRequest
    graph: Graph
    same_as: tuple[CellRequest, ...] = ()

    @property
    def axes(self) -> dict[str, Any]:
        """The axes that count: None for those that this experiment does not use."""
        return {
            name: value if name.split(".")[0] in self.graph.used else None for name, value in self.request.axes.items()
        }


@dataclass(frozen=True)
class LaneCount:
    """Stages of one kind: how often cells ask for one, how many are distinct, and how many of these are kept already."""

    kind: str
    n_asked: int
    n_unique: int
    n_kept: int


@dataclass(frozen=True)
class Plan:
    """What a sweep is going to do."""

    cells: tuple[PlannedCell, ...]
    lanes: tuple[LaneCount, ...]
    n_llm_calls: int
    order: tuple[Stage, ...]
    """Stages to run, each after its inputs."""

    @property
    def n_requested(self) -> int:
        """Cells that were asked for."""
        return sum(1 + len(cell.same_as) for cell in self.cells)


def plan_cells(requests: Sequence[CellRequest], load: Callable[[Stage], Mapping[str, Any]]) -> tuple[PlannedCell, ...]:
    """Cells in the order asked for, equal experiments joined.

    `load` makes a data stage's result and returns its `content`: data come first, since their mistakes should be found
    before any work and the plan needs their size. Raises DataError.
    """
    data: dict[Any, Data] = {}
    planned: dict[str, PlannedCell] = {}
    for request in requests:
        dataset = request.cell.dataset
        if dataset not in data:
            loaded = data_stage(request.cell)
            data[dataset] = data_of(loaded, load(loaded))
        graph = graph_of(request.cell, data[dataset])
        before = planned.get(graph.result.key)
        if before is None:
            planned[graph.result.key] = PlannedCell(graph.result.key[:12], request, graph)
        else:
            planned[graph.result.key] = replace(before, same_as=(*before.same_as, request))
    return tuple(planned.values())


def make_plan(cells: tuple[PlannedCell, ...], store: Store) -> Plan:
    """Counts and orders the stages."""
    stages: dict[str, Stage] = {}
    asked: dict[str, int] = dict.fromkeys(LANES, 0)
    for cell in cells:
        for stage in cell.graph.result.upstream():
            stages.setdefault(stage.key, stage)
            asked[stage.kind] += 1 + len(cell.same_as)
    kept = {key for key, stage in stages.items() if store.find(stage.kind, key)}
    lanes = []
    for kind in LANES:
        unique = [stage for stage in stages.values() if stage.kind == kind]
        lanes.append(LaneCount(kind, asked[kind], len(unique), sum(stage.key in kept for stage in unique)))
    needed = _needed(cells, kept)
    return Plan(
        cells, tuple(lane for lane in lanes if lane.n_unique), _llm_calls(cells, needed, store), tuple(_ordered(needed))
    )


def _needed(cells: Iterable[PlannedCell], kept: set[str]) -> dict[str, Stage]:
    """Stages whose results are wanted and not there: what lies behind a kept result is not needed."""
    needed: dict[str, Stage] = {}

    def visit(stage: Stage) -> None:
        if stage.key not in kept and stage.key not in needed:
            needed[stage.key] = stage
            for before in stage.inputs.values():
                visit(before)

    for cell in cells:
        visit(cell.graph.result)
    return needed


def _ordered(needed: dict[str, Stage]) -> list[Stage]:
    """Inputs first. Of the stages that are ready, those without a model go first, the furthest along before the others, so
    that cells finish one by one; then those of the model that is loaded; only then another model."""
    waiting = dict(needed)
    done: set[str] = set()
    order: list[Stage] = []
    model = ""
    places = {key: i for i, key in enumerate(needed)}
    while waiting:
        ready = [
            stage
            for stage in waiting.values()
            if all(before.key not in needed or before.key in done for before in stage.inputs.values())
        ]
        best = min(
            ready, key=lambda s: (s.model not in ("", model), s.model != "", -LANES.index(s.kind), places[s.key])
        )
        model = best.model or model
        order.append(best)
        done.add(best.key)
        del waiting[best.key]
    return order


def _llm_calls(cells: Iterable[PlannedCell], needed: dict[str, Stage], store: Store) -> int:
    """Requests that will be made: one per sample of every generation that is not kept, less those in its journal."""
    calls = {}
    for cell in cells:
        answers = cell.graph.answers
        if answers.key in needed:
            journal = store.journal(answers.key)
            n_journalled = journal.read_bytes().count(b'"request_id"') if journal.exists() else 0
            calls[answers.key] = max(0, cell.graph.data.n_samples - n_journalled)
    return sum(calls.values())
