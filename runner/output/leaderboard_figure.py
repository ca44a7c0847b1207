"""The leaderboard as a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.json_value import Json
from components.subsets import OVERALL
from runner.results import CellResult, larger_is_better


def leaderboard_figure(cells: Sequence[CellResult], axes: Sequence[str], metric: str, most: int = 40) -> Any:
    """Bars of one metric with intervals, in the order of the cells, at most `most` of those that have a value."""
    from matplotlib.figure import Figure

    shown = [cell for cell in cells if cell.value(metric) is not None][:most]
    labels = [_label(cell, axes) for cell in shown]
    width = max((len(label) for label in labels), default=10)
    figure = Figure(figsize=(5 + 0.075 * width, 1.2 + 0.3 * len(shown)), dpi=110, layout="constrained")
    plot = figure.add_subplot()
    entries = [cell.metrics[OVERALL][metric] for cell in shown]
    values = [entry["value"] for entry in entries]
    places = range(len(shown))
    plot.barh(places, values, color="#4477aa", height=0.7)
    whiskers = list(zip(*map(_whiskers, entries), strict=True))
    plot.errorbar(values, places, xerr=whiskers, fmt="none", color="#222222", capsize=2, linewidth=1)
    plot.set_yticks(places, labels, fontsize=8)
    plot.invert_yaxis()
    direction = ", smaller is better" if larger_is_better(metric, cells) is False else ""
    plot.set_xlabel(f"{metric}{direction}, all samples, 95% bootstrap interval")
    plot.spines[["top", "right"]].set_visible(False)
    if len(cells) > len(shown):
        plot.set_title(f"the best {len(shown)} of {len(cells)} cells", fontsize=9)
    return figure


def _label(cell: CellResult, axes: Sequence[str]) -> str:
    return " ".join(f"{a.split('.')[-1]}={'–' if cell.axes.get(a) is None else cell.axes[a]}" for a in axes)


def _whiskers(entry: Mapping[str, Json]) -> tuple[float, float]:
    """How far the interval reaches to the left and the right of the value; NaN, which is not drawn, without one."""
    if entry["ci_low"] is None:
        return float("nan"), float("nan")
    return max(0, entry["value"] - entry["ci_low"]), max(0, entry["ci_high"] - entry["value"])
