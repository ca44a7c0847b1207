"""The direction of a metric: larger values are better, smaller ones, or neither."""

from collections.abc import Mapping

from components.protocols import Metric


def metric_larger_is_better(metric: Metric, name: str) -> bool | None:
    """Return True if larger values of this name are better, False if smaller ones are, None if neither.

    A component whose metrics have different directions has a mapping `directions` by name. All other metrics have the
    direction `larger_is_better`.
    """
    directions: Mapping[str, bool | None] = getattr(metric, "directions", {})
    return directions.get(name, metric.larger_is_better)
