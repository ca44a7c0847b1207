"""Plans a search: its objectives, its maximum cost, and the settings that it refuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from components.errors import ConfigError
from runner.engine.plan import Plan
from runner.engine.request_counts import RequestCount, count_max_requests
from runner.engine.store import Store
from runner.launch.headline import named_metric
from runner.launch.search_jobs import SearchJobs
from runner.launch.search_space import SearchSpace
from runner.launch.search_strategies import Scores
from runner.output.money import highest_cost, unpriced_models
from runner.output.planned_metric import PlannedMetrics
from runner.pipeline.planned_cells import CellRequest, PlannedCell, SweepPlan, plan_sweep
from runner.pipeline.search_settings import SpaceSearchSettings
from runner.results import COSTS, OK, CellResult
from runner.results.cell_axes import DRAWS
from runner.results.cell_choice import CONDITION, is_bound

_COST = "cost"


@dataclass(frozen=True)
class Objective:
    """A metric or a kind of cost that a search improves."""

    name: str
    larger_is_better: bool

    @property
    def is_cost(self) -> bool:
        """True for a kind of cost."""
        return self.name in COSTS

    def value(self, result: CellResult) -> float | None:
        """Return the value of a cell, None if it has none."""
        return COSTS[self.name].measure(result) if self.is_cost else result.value(self.name)


@dataclass(frozen=True)
class PlannedSearch:
    """A search of `space`. The first of its objectives ranks the cells."""

    settings: SpaceSearchSettings
    space: SearchSpace
    objectives: tuple[Objective, ...]

    @property
    def n_cells(self) -> int:
        """Maximum number of cells that run."""
        return min(self.settings.n_cells, self.space.n_cells)

    @property
    def names(self) -> str:
        """The names of the objectives."""
        return " and ".join(objective.name for objective in self.objectives)

    def scores(self, result: CellResult) -> Scores | None:
        """Return the scores of a cell, larger ones better; None if it failed or lacks a value."""
        values = [objective.value(result) for objective in self.objectives]
        if result.status != OK or None in values:
            return None
        pairs = zip(values, self.objectives, strict=True)
        return tuple((value or 0.0) * (1 if objective.larger_is_better else -1) for value, objective in pairs)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the plan: the axes with their values, and a better alternative if there is one."""
        texts = {" + ".join(axis.names): axis.text for axis in self.space.axes}
        width = max(map(len, texts))
        yield from (f"{name:<{width}}  {text}" for name, text in texts.items())
        if self.settings.n_cells >= (n := self.space.n_cells):
            yield f"search=none runs all {n:,} cells, so its tables need no caveat about the search"

    def head(self) -> str:
        """Return the first line of the plan, without requests."""
        return (
            f"a search by {self.names}: {self.n_cells:,} of {self.space.n_cells:,} cells, {self.settings.batch} at a "
            f"time (search={self.settings.strategy.value}, search.seed={self.settings.seed})"
        )


def plan_search(cells: Sequence[PlannedCell], space: SearchSpace, headline: str, store: Store) -> PlannedSearch:
    """Return the search that the settings of the cells ask for.

    `cells` have every value of every axis, and `headline` is the metric that ranks cells. Raises ConfigError with the
    reasons why this space cannot be searched.
    """
    config = cells[0].request.cell
    if problems := list(_space_problems(cells, space)):
        raise ConfigError(problems)
    metrics = PlannedMetrics(cells, cells[0].graph.data, store)
    objectives: list[Objective] = []
    for name in config.search.objectives or [""]:
        if name in COSTS:
            objectives.append(Objective(name, larger_is_better=False))
            continue
        planned = named_metric(metrics, name, headline, "search.objectives (or a kind of cost)")
        larger = planned.metric.larger_is_better if planned else None
        if planned is None or not len(planned.rows):
            problems.append(
                f"search: no sample can have a value of {name or 'a metric that ranks cells'}. Choose another "
                "metric with search.objectives, or set search=none."
            )
        elif larger is None:
            problems.append(
                f"search.objectives: {name} cannot rank cells, because neither larger nor smaller is better. Choose "
                "another metric."
            )
        else:
            objectives.append(Objective(planned.name, larger))
    problems += _objective_problems(cells, objectives)
    if problems:
        raise ConfigError(problems)
    return PlannedSearch(config.search, space, tuple(objectives))


def _space_problems(cells: Sequence[PlannedCell], space: SearchSpace) -> Iterator[str]:
    config = cells[0].request.cell
    if config.race.enabled:
        yield (
            "search: a race stops cells before all of their samples are scored, and a search needs whole scores. "
            "Use race=none or search=none"
        )
    if len({cell.graph.data.key for cell in cells}) > 1:
        yield "search: scores over different data sets cannot be compared. Run a search for each data set."
    if 0 < sum(map(is_bound, cells)) < len(cells):
        yield "search: retriever=oracle is an upper bound, which the search would choose. Run it in a sweep of its own."
    for name in (name for axis in space.axes for name in axis.names):
        if name in DRAWS:
            yield f"search: {name} repeats the same settings, so there is nothing to search. Remove it from the axes."
        if name == CONDITION:
            yield f"search: {CONDITION} sets how hard the test is, so it is not an axis to search. Set one value."


def _objective_problems(cells: Sequence[PlannedCell], objectives: Sequence[Objective]) -> Iterator[str]:
    config, names = cells[0].request.cell, [objective.name for objective in objectives]
    if objectives and objectives[0].is_cost:
        yield f"search.objectives: got {', '.join(names)}, expected a metric first, which ranks the cells"
    elif config.run.headline and config.search.objectives and config.run.headline != names[0]:
        yield (
            f"search.objectives: the first, {names[0]}, and run.headline={config.run.headline} differ. Set only one, "
            "because the first objective ranks the cells."
        )
    if _COST in names:
        stages = [stage for cell in cells for stage in cell.graph.result.upstream()]
        if not any(stage.n_requests for stage in stages):
            yield (
                "search.objectives: no cell calls a language model, so no cell has a cost. Use context_tokens or "
                "seconds."
            )
        for model in unpriced_models(stages, config.prices):
            yield f"search.objectives: the price of {model} is not known. Add it to your price list (docs/budgets.md)"


def plan_max_requests(
    planned: PlannedSearch, corners: SweepPlan, requests: Sequence[CellRequest], jobs: SearchJobs, store: Store
) -> Plan:
    """Return the plan of the corners with the most requests of the whole search.

    No cell costs more than the cell with the most expensive value of every axis. If those values are not a valid
    combination, the most expensive corner counts. `requests` are the requests of the corners, in their order.
    """
    costs = {
        id(request): highest_cost(_count_requests(cell, store), requests[0].cell.prices)
        for cell in corners.cells
        for request in (cell.request, *cell.same_as)
    }
    cost_by_point = dict(zip(jobs.points, (costs[id(request)] for request in requests), strict=True))
    most_expensive = tuple(max(points, key=cost_by_point.__getitem__)[axis] for axis, points in enumerate(jobs.along))
    try:
        (cell,) = plan_sweep([jobs.request(most_expensive, accept=False)], store).cells
    except ConfigError:
        cell = max(corners.cells, key=lambda cell: costs[id(cell.request)])
    counts = tuple(count.times(planned.n_cells) for count in _count_requests(cell, store))
    return replace(corners.plan, requests=counts)


def _count_requests(cell: PlannedCell, store: Store) -> tuple[RequestCount, ...]:
    return count_max_requests(tuple(cell.graph.result.upstream()), store)
