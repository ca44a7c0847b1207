"""Section: quality against cost, per question and once per corpus."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.charts.scatter import Point, scatter
from analysis.report.report_input import ReportSource
from components.statistics import dominators
from runner.console.styled_text import count_decimals
from runner.results import COSTS, CellResult, Cost, common_means, known_costs


@dataclass(frozen=True)
class CostRow:
    """A cell on one of the fronts, with all of its costs; None for unknown ones."""

    cell_id: str
    name: str
    value: float
    costs: Mapping[str, float | None]
    on_front_of: tuple[str, ...]


@dataclass(frozen=True)
class CostChart:
    """Quality against one kind of cost. `front` are the ids of the cells on the front: see `dominators`."""

    cost: str
    head: str
    front: tuple[str, ...]
    svg: str


@dataclass(frozen=True)
class QualityAgainstCost:
    """A chart for each kind of cost that all cells report, and the cells on any of their fronts, best first."""

    metric: str
    digits: int
    heads: Mapping[str, str]
    charts: tuple[CostChart, ...]
    rows: tuple[CostRow, ...]
    currency: str


def gather(source: ReportSource) -> QualityAgainstCost | None:
    """Return the section for the main metric of the report, or None if fewer than two cells can be compared."""
    main = source.main
    valued = source.list_cells_with_value(main.metric) if main else []
    if main is None or len(valued) < 2:
        return None
    metric = main.metric
    common = common_means(valued, source.sweep.folder_of, metric.metric, metric.subset)
    cells = [cell for cell in valued if not common.by_cell or cell.cell_id in common.by_cell]
    values = {cell.cell_id: common.mean(cell, metric.metric, metric.subset) or 0.0 for cell in cells}
    charts = tuple(_chart(source, cells, values, cost) for cost in known_costs(cells))
    sign = 1 if metric.direction() else -1
    rows = [_row(source, cell, values[cell.cell_id], charts) for cell in cells]
    rows.sort(key=lambda row: -sign * row.value)
    return QualityAgainstCost(
        metric.metric,
        count_decimals(values.values()),
        {cost.name: cost.head for cost in COSTS.values() if any(row.costs[cost.name] for row in rows)},
        charts,
        tuple(row for row in rows if row.on_front_of),
        " and ".join(dict.fromkeys(cell.currency for cell in cells if cell.currency)),
    )


def _chart(source: ReportSource, cells: list[CellResult], values: Mapping[str, float], cost: Cost) -> CostChart:
    assert source.main, "there are cells with a value"
    metric = source.main.metric
    costs = np.array([cost.measure(cell) for cell in cells], dtype=np.float64)
    better = np.array([values[cell.cell_id] for cell in cells]) * (1 if metric.direction() else -1)
    is_beaten = [bool(row.any()) for row in dominators(better, costs)]
    best = max(range(len(cells)), key=lambda index: better[index])
    points = [
        _point(source, cell, values[cell.cell_id], float(costs[index]), not is_beaten[index], index == best)
        for index, cell in enumerate(cells)
    ]
    front = tuple(cell.cell_id for cell, beaten in zip(cells, is_beaten, strict=True) if not beaten)
    title = f"{metric.metric} against {cost.head}: {len(front)} of {len(cells)} cells are on the front"
    return CostChart(cost.name, cost.head, front, scatter(points, cost.head, metric.metric, title))


def _point(
    source: ReportSource, cell: CellResult, value: float, cost: float, is_on_front: bool, is_best: bool
) -> Point:
    assert source.main, "there are cells with a value"
    entry = cell.metrics[source.main.metric.subset][source.main.metric.metric]
    return Point(
        source.names.short_name(cell),
        cost,
        value,
        entry.get("ci_low"),
        entry.get("ci_high"),
        bool(is_on_front),
        is_best,
    )


def _row(source: ReportSource, cell: CellResult, value: float, charts: tuple[CostChart, ...]) -> CostRow:
    return CostRow(
        cell.cell_id,
        source.names.short_name(cell),
        value,
        {cost.name: cost.measure(cell) for cost in COSTS.values()},
        tuple(chart.cost for chart in charts if cell.cell_id in chart.front),
    )
