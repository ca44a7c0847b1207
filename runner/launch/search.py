"""Runs a search: proposes cells in rounds, and proposes the next ones by the scores of those that ended.

Proposals are a pure function of the seed and the scores, so a search that was interrupted proposes the same cells when
it is started again, and finds their results in the store.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from components.errors import ConfigError
from components.json_value import Json
from runner.engine.store import Store
from runner.launch.search_jobs import SearchJobs
from runner.launch.search_plan import PlannedSearch
from runner.launch.search_strategies import Point, Scores, make_strategy
from runner.pipeline.planned_cells import LoadedDatasets, PlannedCell, SweepPlan, collect_plan, plan_cells
from runner.results import CellResult
from runner.results.partial_sweeps import OPTIMISTIC, chose_by_scores, search_text

_MAX_REPEATED_PROPOSALS = 1000
"""Proposals in a row that equal earlier cells, after which the search ends."""


class SweepSearch:
    """The search of one sweep: asks the strategy for cells in rounds, and records their results."""

    def __init__(
        self,
        planned: PlannedSearch,
        jobs: SearchJobs,
        store: Store,
        loaded: LoadedDatasets,
        announce: Callable[[str], None],
    ) -> None:
        """`loaded` are data sets, and `announce` receives a line per round.

        Raises MissingExtraError if the strategy needs Optuna, and it is not installed.
        """
        self.planned = planned
        self._jobs = jobs
        self._store = store
        self._loaded = loaded
        self._announce = announce
        shapes = [axis.shape for axis in planned.space.axes]
        self._strategy = make_strategy(shapes, planned.settings, len(planned.objectives))
        self._axes = {name: axis.text for axis in planned.space.axes for name in axis.names}
        self._cell_of: dict[Point, str] = {}
        self._numbers: dict[str, int] = {}
        self._scores: dict[str, Scores | None] = {}
        self._invalid: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        self._n_repeated = 0
        self._is_whole = False

    def rounds(self) -> Iterator[SweepPlan]:
        """Yield the plan of each round. Its cells must be passed to `record` before the next one is taken.

        Raises ConfigError if no cell of the space is valid.
        """
        points = next(self._strategy, [])
        while points:
            waiting = list(points)
            while waiting and not self._is_over:
                if cells := self._new_cells(waiting):
                    yield collect_plan(cells, self._store)
                    self._announce(self._line())
            if self._is_over:
                break
            try:
                points = self._strategy.send([self._scores.get(self._cell_of[point]) for point in points])
            except StopIteration:
                break
        self._is_whole = len(self._cell_of) == self.planned.space.n_cells
        if not self._numbers:
            raise ConfigError([f"search: no cell of the space is valid: {reason}" for reason in self._invalid])

    @property
    def _is_over(self) -> bool:
        return len(self._numbers) >= self.planned.settings.n_cells or self._n_repeated >= _MAX_REPEATED_PROPOSALS

    def _new_cells(self, waiting: list[Point]) -> list[PlannedCell]:
        """Take points from `waiting` until they fill a batch of new cells. Points whose cell exists are skipped."""
        cells: list[PlannedCell] = []
        limit = min(self.planned.settings.batch, self.planned.settings.n_cells - len(self._numbers))
        while waiting and len(cells) < limit and self._n_repeated < _MAX_REPEATED_PROPOSALS:
            point = waiting.pop(0)
            cell = None if point in self._cell_of else self._planned_cell(point)
            self._n_repeated = 0 if cell else self._n_repeated + 1
            if cell:
                self._numbers[cell.cell_id] = len(self._numbers) + 1
                self._names[cell.cell_id] = " ".join(
                    each
                    for axis, index in zip(self.planned.space.axes, point, strict=True)
                    for each in axis.steps[index]
                )
                cells.append(cell)
        return cells

    def _planned_cell(self, point: Point) -> PlannedCell | None:
        """Return the cell at a point; None if an earlier point had it, or if its values are not a valid combination."""
        self._cell_of[point] = ""
        try:
            request = self._jobs.request(point)
            (cell,) = plan_cells([request], self._store, self._announce, self._loaded)
        except ConfigError as error:
            self._invalid[" ".join(error.problems)] += 1
            return None
        self._cell_of[point] = cell.cell_id
        return None if cell.cell_id in self._numbers else cell

    def record(self, result: CellResult) -> CellResult:
        """Take the scores of a cell that ended, and return it with its mark."""
        self._scores[result.cell_id] = self.planned.scores(result)
        details = {"number": self._numbers[result.cell_id], "axes": list(self._axes)}
        return replace(result, search={**self._search_facts(), **details})

    def _search_facts(self) -> dict[str, Json]:
        settings = self.planned.settings
        return {
            "strategy": settings.strategy.value,
            "seed": settings.seed,
            "n_cells": self.planned.n_cells,
            "n_space": self.planned.space.n_cells,
        }

    def describe(self) -> dict[str, Json]:
        """Return the field `search` of the sweep."""
        return {
            **self._search_facts(),
            "n_tried": len(self._scores),
            "n_failed": sum(scores is None for scores in self._scores.values()),
            "n_invalid": self._invalid.total(),
            "is_whole": self._is_whole,
            "objectives": [objective.name for objective in self.planned.objectives],
            "axes": self._axes,
        }

    def _line(self) -> str:
        n_failed = sum(scores is None for scores in self._scores.values())
        failed = f", {n_failed:,} failed" if n_failed else ""
        return f"search: {len(self._scores):,} of {self.planned.n_cells:,} cells{failed}{self._describe_best()}"

    def _describe_best(self) -> str:
        """Describe the best cell so far, or for several objectives the number of cells on the front."""
        scored = {cell_id: scores for cell_id, scores in self._scores.items() if scores is not None}
        if not scored:
            return ""
        if len(self.planned.objectives) > 1:
            return f", {len(_front(scored)):,} of them on the front of {self.planned.names}"
        best = max(scored, key=lambda cell_id: scored[cell_id])
        value = scored[best][0] * (1 if self.planned.objectives[0].larger_is_better else -1)
        return f", best {self.planned.names} {value:.4f} ({self._names[best]})"

    def closing_lines(self, folder: str) -> Iterator[str]:
        """Yield lines about the search that has ended. `folder` is the sweep's folder, quoted for a shell."""
        described = self.describe()
        yield f"{search_text(described)}{self._describe_best()}"
        if self._n_repeated >= _MAX_REPEATED_PROPOSALS:
            yield (
                f"search: {_MAX_REPEATED_PROPOSALS:,} proposals in a row repeated earlier cells, so the space may be "
                "exhausted"
            )
        for reason, n in self._invalid.items():
            yield f"search: {n:,} proposal{'s' if n > 1 else ''} left out: {reason}"
        if chose_by_scores(described):
            yield f"search: {OPTIMISTIC}: docs/search.md"
        first, *others = self.planned.objectives
        for other in others:
            against = f" --against {other.name}" if other.is_cost else ""
            metric = first.name if other.is_cost else other.name
            yield f"front:    python -m analysis pareto {folder} --metric {metric}{against}"


def _front(scores: dict[str, Scores]) -> list[str]:
    """Return the cells that no other cell dominates."""
    table = np.array(list(scores.values()))
    differences = table[np.newaxis, :, :] - table[:, np.newaxis, :]
    dominated = ((differences >= 0).all(axis=2) & (differences > 0).any(axis=2)).any(axis=1)
    return [cell_id for cell_id, is_dominated in zip(scores, dominated.tolist(), strict=True) if not is_dominated]
