"""Facts about a metric that a cell names: its direction, how its sums combine, and whether it reads prompts."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.protocols import Metric, RankingMetric
from runner.engine.plugins.trusted import code_of_fields, foreign_targets, how_to_trust, trusted
from runner.results.cell_result import CellResult


def larger_is_better(metric: str, cells: Iterable[CellResult]) -> bool | None:
    """Which values of the metric are the better ones; None where neither is, where no cell has the metric, or where
    cells disagree: a judge whose grades were turned round is another one, and nothing is ranked by both.
    """
    found = {cell.larger_is_better[metric] for cell in cells if metric in cell.larger_is_better}
    return found.pop() if len(found) == 1 else None


def combiner(cell: CellResult, metric: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """What makes the metric of sums of its `score_statistics`, float64[..., d], as the cell's own component does.

    Raises DataError if the cell's configuration has no such component (any more), or if it is of a package that nobody
    named to this process (see `runner.engine.plugins.trusted`).
    """
    component = _component(cell, metric)
    if component is None:
        foreign = [target for _, target in foreign_targets(_score_nodes(cell), "", trusted())]
        why = f"; {how_to_trust(foreign)}" if foreign else ""
        raise DataError(f"{cell.cell_id}: its configuration names no component that computes {metric}{why}")
    return partial(component.combine, metric)


def sees_prompts(cell: CellResult, metric: str) -> bool:
    """False for a metric of rankings: how much of what was found is read, and at what price, is nothing to it. True
    where it is not known what computes the metric.
    """
    if cell.ranking_metrics is not None:
        return metric not in cell.ranking_metrics
    return not isinstance(_component(cell, metric), RankingMetric)


def _component(cell: CellResult, metric: str) -> Metric | None:
    """The component of a cell's configuration that computes the metric: one of ours, or of a trusted package."""
    from runner.pipeline.building import build_component

    plugins = trusted()
    for name, node in _score_nodes(cell).items():
        if any(code_of_fields(node, name)):
            continue  # a judge whose model names code: it has a value for each sample, and needs none
        try:
            component: Metric = build_component(node, Metric, f"metrics.scores.{name}", plugins)
        except ConfigError:
            continue  # of another version of the project, not trusted, or with an extra that is not installed here
        if metric in component.names:
            return component
    return None


def _score_nodes(cell: CellResult) -> Mapping[str, Json]:
    metrics = cell.config.get("metrics")
    scores = metrics.get("scores") if isinstance(metrics, Mapping) else None
    return scores if isinstance(scores, Mapping) else {}
