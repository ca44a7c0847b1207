"""The line of the plan about axes that the headline metric does not see."""

from collections.abc import Sequence

from components.protocols import ContextMetric, RankingMetric
from runner.output.planned_metric import PlannedMetric, PlannedMetrics
from runner.results.cell_axes import varying_axes
from runner.results.leaderboard_order import HEADLINES


def unseen_line(found: PlannedMetric, metrics: PlannedMetrics) -> str:
    """A line if some axes change no value of the metric, as top_k changes no ranking; else "". It names a metric that
    tells more of the cells apart, if one is computed.
    """
    n_cells, n_different = len(found.cells), found.n_different
    axes = varying_axes([cell.axes for cell in found.cells])
    unseen = axes if n_different == 1 else [axis for axis in axes if not _sees(found, axis, axes)]
    if n_cells < 2 or n_different == n_cells or not unseen:
        return ""
    equal = (
        f"{'both' if n_cells == 2 else f'all {n_cells:,}'} cells will be equal by it"
        if n_different == 1
        else f"the {n_cells:,} cells have at most {n_different:,} different values of it"
    )
    better = _better(found, metrics)
    hint = f". run.headline={better} can tell more of them apart" if better else ""
    return f"{found.name} does not depend on {' or '.join(unseen)}: {equal}{hint}."


def _sees(found: PlannedMetric, axis: str, axes: Sequence[str]) -> bool:
    """True if cells that differ in nothing but the axis can differ in the metric, or if there are no such cells."""
    keys: dict[str, list[str]] = {}
    for cell, key in zip(found.cells, found.keys, strict=True):
        others = repr([cell.axes.get(other) for other in axes if other != axis])
        keys.setdefault(others, []).append(key)
    compared = [own for own in keys.values() if len(own) > 1]
    return not compared or any(len(set(own)) > 1 for own in compared)


def _better(found: PlannedMetric, metrics: PlannedMetrics) -> str:
    """The name of the first headline metric in which more cells can differ: of retrieval if `found` is."""
    kinds = (RankingMetric, ContextMetric)
    names = [
        name
        for name in HEADLINES
        if isinstance(metrics.by_name.get(name), kinds) or not isinstance(found.metric, kinds)
    ]
    shares = [name for name in names if getattr(metrics.by_name.get(name), "is_share", True)]
    return next((each.name for each in metrics.ranking(shares) if each.n_different > found.n_different), "")
