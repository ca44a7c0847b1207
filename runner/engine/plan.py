"""The plan of a sweep: the union of its cells' graphs, what of it is in the store, and the order of the rest."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

from components.llms.none import NoGenerator
from runner.engine.journal import read_journal
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.launch.request import CellRequest
from runner.pipeline.stages import KINDS, Data, Graph, data_of, data_stage, graph_of


@dataclass(frozen=True)
class PlannedCell:
    """One experiment; several requests are the same one if they differ only in what it does not use."""

    cell_id: str
    request: CellRequest
    graph: Graph
    same_as: tuple[CellRequest, ...] = ()

    @property
    def axes(self) -> dict[str, Any]:
        """The axes that can change a result: None for those that this experiment does not use, such as one in which
        equal requests differ. `dataset.key` tells data sets of equal name apart.
        """
        others = [request.job.axes for request in self.same_as]
        counted = {
            name: value
            if name.split(".")[0] in self.graph.used and all(axes.get(name) == value for axes in others)
            else None
            for name, value in self.request.job.axes.items()
        }
        return {**counted, "dataset.key": self.graph.data.key[:8]}


@dataclass(frozen=True)
class KindCount:
    """Stages of one kind: how many the cells ask for, how many are distinct, and how many of these are kept."""

    kind: str
    n_asked: int
    n_unique: int
    n_kept: int


@dataclass(frozen=True)
class Plan:
    """What a sweep is going to do."""

    cells: tuple[PlannedCell, ...]
    kinds: tuple[KindCount, ...]
    n_llm_calls: int
    n_judgements: int
    order: tuple[Stage, ...]
    """Stages to run, each after its inputs."""

    @property
    def n_requested(self) -> int:
        """Cells that were asked for."""
        return sum(1 + len(cell.same_as) for cell in self.cells)

    def summary(self) -> dict[str, Any]:
        """The counts, for `sweep.json`."""
        return {
            "n_cells": len(self.cells),
            "n_requested": self.n_requested,
            "n_llm_calls": self.n_llm_calls,
            "n_judgements": self.n_judgements,
            "stages": {
                kind.kind: {"n_asked": kind.n_asked, "n_unique": kind.n_unique, "n_kept": kind.n_kept}
                for kind in self.kinds
            },
        }


def plan_cells(requests: Sequence[CellRequest], load: Callable[[Stage], Mapping[str, Any]]) -> tuple[PlannedCell, ...]:
    """Cells in the order asked for, equal experiments joined.

    `load` makes a data stage's result and returns its parts `content` and `notes`: data come first, since their
    mistakes should be found before any work and the plan needs their size. Raises DataError.
    """
    data: dict[Any, Data] = {}
    planned: dict[str, PlannedCell] = {}
    for request in requests:
        dataset = request.cell.dataset
        if dataset not in data:
            loaded = data_stage(request.cell)
            data[dataset] = data_of(loaded, **load(loaded))
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
    asked: dict[str, int] = dict.fromkeys(KINDS, 0)
    for cell in cells:
        for stage in cell.graph.result.upstream():
            stages.setdefault(stage.key, stage)
            asked[stage.kind] += 1 + len(cell.same_as)
    kept = {key for key, stage in stages.items() if store.find(stage.kind, key)}
    kinds = []
    for kind in KINDS:
        unique = [stage for stage in stages.values() if stage.kind == kind]
        kinds.append(KindCount(kind, asked[kind], len(unique), sum(stage.key in kept for stage in unique)))
    needed = _needed(cells, kept)
    return Plan(
        cells,
        tuple(kind for kind in kinds if kind.n_unique),
        _llm_calls(cells, needed, store),
        _judgements(cells, needed),
        tuple(_ordered(needed)),
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


def _ordered(needed: Mapping[str, Stage]) -> list[Stage]:
    """Inputs first. Of the stages that are ready, those without a model go first, the furthest along before the others,
    so that cells finish one by one; then those of the model that is loaded; only then another model.
    """
    places = {key: (-KINDS.index(stage.kind), i) for i, (key, stage) in enumerate(needed.items())}
    waiting_for = {key: {s.key for s in stage.inputs.values()} & needed.keys() for key, stage in needed.items()}
    followers: dict[str, list[str]] = defaultdict(list)
    for key, inputs in waiting_for.items():
        for before in inputs:
            followers[before].append(key)
    ready: dict[str, list[tuple[tuple[int, int], str]]] = defaultdict(list)

    def add(key: str) -> None:
        heappush(ready[needed[key].model], (places[key], key))

    for key, inputs in waiting_for.items():
        if not inputs:
            add(key)
    order: list[Stage] = []
    loaded = ""
    while any(ready.values()):
        others = sorted((name for name in ready if ready[name]), key=lambda name: ready[name][0])
        model = next((name for name in ("", loaded) if ready[name]), others[0])
        loaded = model or loaded
        _, key = heappop(ready[model])
        order.append(needed[key])
        for follower in followers[key]:
            waiting_for[follower].remove(key)
            if not waiting_for[follower]:
                add(follower)
    return order


def _llm_calls(cells: Iterable[PlannedCell], needed: dict[str, Stage], store: Store) -> int:
    """Requests that will be made: one per sample of every generation that is not kept, less those in its journal."""
    calls = {}
    for cell in cells:
        answers = cell.graph.answers
        if answers.key in needed and not isinstance(answers.component, NoGenerator):
            journal = store.journal(answers.key)
            n_journalled = len({answer.request_id for answer in read_journal(journal)})
            calls[answers.key] = cell.graph.data.n_samples - n_journalled
    return sum(calls.values())


def _judgements(cells: Iterable[PlannedCell], needed: Mapping[str, Stage]) -> int:
    """Samples that will be judged, once for each metric. A judgement is one request or several (one per passage, say),
    fewer where replies are kept.
    """
    counts = {
        stage.key: cell.graph.data.n_samples
        for cell in cells
        for stage in cell.graph.result.inputs.values()
        if stage.kind == "judged_scores" and stage.key in needed
    }
    return sum(counts.values())
