"""The draws of a configuration (`repeat`, `judge_repeat`) as one row of a leaderboard: which is best is chance."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from components.json_value import Json
from runner.results import OK, CellResult
from runner.results.cell_axes import DRAWS, configuration_of
from runner.results.joined_samples import CommonMeans

N_DRAWS = "draws"
"""The axis of a row that says how many draws it is over."""


def over_draws(cells: Sequence[CellResult], common: CommonMeans) -> tuple[list[CellResult], CommonMeans]:
    """A cell for each configuration in the place of its first draw, and the means over common samples that belong to
    them. Where no configuration has two draws, the cells as they are. A failed draw stays a row of its own.

    Values and ends of intervals are means over the draws, numbers of samples are sums: the interval is about that of
    one draw, and so wide enough for their mean.
    """
    groups: dict[str, list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(configuration_of(cell) if cell.status == OK else cell.cell_id, []).append(cell)
    if len(groups) == len(cells):
        return list(cells), common
    joined = {cell.cell_id: own for own in groups.values() for cell in [_joined(own)]}
    means = {
        cell_id: fmean(common.by_cell[draw.cell_id] for draw in own)
        for cell_id, own in joined.items()
        if all(draw.cell_id in common.by_cell for draw in own)
    }
    return [_joined(own) for own in groups.values()], replace(common, by_cell=means)


def _joined(draws: Sequence[CellResult]) -> CellResult:
    """Of the metrics that are held of all of them: a draw without a value of one is held with more than the others."""
    first = draws[0]
    metrics = {
        subset: {
            name: _mean([draw.metrics[subset][name] for draw in draws])
            for name in entries
            if all(name in draw.metrics[subset] for draw in draws)
        }
        for subset, entries in first.metrics.items()
    }
    axes = {name: value for name, value in first.axes.items() if name not in DRAWS}
    cell_id = first.cell_id + (f" +{len(draws) - 1}" if len(draws) > 1 else "")
    return replace(first, cell_id=cell_id, axes={**axes, N_DRAWS: len(draws)}, metrics=metrics)


def _mean(entries: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """What a leaderboard reads; None where some draw has none."""
    means = {
        name: None if any(entry[name] is None for entry in entries) else fmean(entry[name] for entry in entries)
        for name in ("value", "ci_low", "ci_high")
        if name in entries[0]
    }
    if "n" not in entries[0]:  # of subsets a sweep holds the values alone
        return means
    left_out: Counter[str] = sum((Counter(entry["n_excluded"]) for entry in entries), Counter())
    return {**means, "n": sum(entry["n"] for entry in entries), "n_excluded": dict(left_out)}
