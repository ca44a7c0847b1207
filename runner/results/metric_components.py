"""Properties of a metric of a cell: its direction, how its sums combine, and whether it reads prompts."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from components.errors import ConfigError, DataError
from components.json_value import Json
from components.means import combine_copy
from components.protocols import Metric, RankingMetric
from runner.engine.plugins.trusted_packages import code_of_fields, foreign_targets, list_trusted, trust_advice
from runner.results.cell_result import CellResult


def larger_is_better(metric: str, cells: Iterable[CellResult]) -> bool | None:
    """Return True if larger values of the metric are better.

    None if no direction is better, if no cell has the metric, or if cells disagree. A judge with reversed grades is
    another judge, and no order is valid for both.
    """
    directions = {cell.larger_is_better[metric] for cell in cells if metric in cell.larger_is_better}
    return directions.pop() if len(directions) == 1 else None


def combiner(cell: CellResult, metric: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the function of the cell's component that combines sums of `score_statistics`, float64[..., d].

    Raises DataError if the cell's configuration has no such component, or if it belongs to a package that the user did
    not trust (see `runner.engine.plugins.trusted_packages`).
    """
    component = _component(cell, metric)
    if component is None:
        foreign = [target for _, target in foreign_targets(_score_nodes(cell), "", list_trusted())]
        hint = f"; {trust_advice(foreign)}" if foreign else ""
        raise DataError(f"{cell.cell_id}: its configuration names no component that computes {metric}{hint}")
    return partial(combine_copy, component.combine, metric)


def component_settings(cell: CellResult, metric: str) -> Mapping[str, Json] | None:
    """Return the configuration of the component that computes the metric; None if it is unknown."""
    match = _component_with_node(cell, metric)
    return match[0] if match else None


def depends_on_prompt(cell: CellResult, metric: str) -> bool:
    """Return False for a metric of rankings, which does not depend on the prompt or its tokens.

    Returns True if the component of the metric is unknown.
    """
    if cell.ranking_metrics is not None:
        return metric not in cell.ranking_metrics
    return not isinstance(_component(cell, metric), RankingMetric)


def _component(cell: CellResult, metric: str) -> Metric | None:
    match = _component_with_node(cell, metric)
    return match[1] if match else None


def _component_with_node(cell: CellResult, metric: str) -> tuple[Mapping[str, Json], Metric] | None:
    """Return the component of a cell's configuration that computes the metric, one of ours or of a trusted package,
    after its configuration.
    """
    from runner.pipeline.building import build_component

    plugins = list_trusted()
    for name, node in _score_nodes(cell).items():
        if any(code_of_fields(node, name)):
            continue  # a judge whose model names code has a value for each sample, so that it is not needed
        try:
            component: Metric = build_component(node, Metric, f"metrics.scores.{name}", plugins)
        except ConfigError:
            continue  # the class is of another version, not trusted, or needs an extra that is not installed
        if metric in component.names:
            return node, component
    return None


def _score_nodes(cell: CellResult) -> Mapping[str, Json]:
    metrics = cell.config.get("metrics")
    scores = metrics.get("scores") if isinstance(metrics, Mapping) else None
    return scores if isinstance(scores, Mapping) else {}
