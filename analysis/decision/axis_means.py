"""The mean of each level of an axis with its interval, alone or for each level of a second axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.decision.design import CornerDesign, corner_design
from analysis.decision.scenario_scores import MIN_CLUSTERS
from components.errors import DataError
from components.limits import expected_one_of
from components.statistics import Contributions, SampleScores, contributions, critical_value
from runner.results import (
    NO_EFFECTS,
    OK,
    CellResult,
    CommonSamples,
    LoadedSweep,
    SubsetMetric,
    all_failed_text,
    axis_levels,
    common_samples,
    coupling_notes,
    put_most_samples_first,
    varying_axes,
)


@dataclass(frozen=True)
class LevelMean:
    """The mean of the cells with a level of the axis and a level of `by` ("" if there is no second axis). Its interval
    is None with too few groups of samples.
    """

    level: str | float
    by: str
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class AxisMeans:
    """Means over the `n` samples that all cells have, in `n_clusters` groups. Every level is averaged over the same
    `n_combinations` of `other_axes`. `apart` lists the combinations of level and `by` without such cells. Levels are
    float64 if all of them are numbers, otherwise text. `left_out` are lines about cells that are in no mean.
    """

    axis: str
    by: str
    metric: SubsetMetric
    means: tuple[LevelMean, ...]
    n: int
    n_clusters: int
    n_combinations: int
    other_axes: tuple[str, ...]
    apart: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]


def axis_means(sweep: LoadedSweep, metric: str, axis: str, by: str = "", *, alpha: float = 0.05) -> AxisMeans:
    """Return the means of "[subset:]metric" over the levels of a varying axis. If all cells have the same samples, a
    level with a single cell has the value and the interval of its `cell.json`.

    Raises DataError if the axis does not vary, or if no two of its levels can be compared.
    """
    sweep.require_grid(NO_EFFECTS)
    parsed = sweep.metric(metric)
    valued = [cell for cell in sweep.cells if cell.status == OK and parsed.value(cell) is not None]
    if not valued:
        raise DataError(f"{sweep.name}: {all_failed_text(sweep.cells) or f'no cell has a value of {parsed}'}")
    joined = common_samples(
        put_most_samples_first(valued, parsed.metric, parsed.subset), sweep.folder_of, parsed.metric, parsed.subset
    )
    varying = varying_axes(joined.cells)
    for option, name, allowed in (("axis", axis, varying), ("by", by, [each for each in varying if each != axis])):
        if name and name not in allowed:
            raise DataError(f"--{option}: got {name!r}{expected_one_of(name, allowed)}")
    axes = tuple(name for name in (axis, by) if name)
    all_levels = axis_levels(joined.cells)
    design = corner_design(axes, {name: all_levels[name] for name in varying})
    if design is None:
        raise DataError(
            f"{sweep.name}: no two levels of {axis} have cells that are otherwise equal. Choose another axis, or sweep "
            "all combinations."
        )
    return AxisMeans(
        axis,
        by,
        parsed,
        tuple(_means(joined, design, parsed, axis, alpha)),
        joined.n,
        len(np.unique(joined.clusters)),
        design.n_combinations,
        tuple(name for name in varying if name not in axes),
        design.apart,
        tuple(filter(None, (_no_common_sample(joined), sweep.left_out(len(valued)), *coupling_notes(joined.cells)))),
    )


def _no_common_sample(joined: CommonSamples) -> str:
    ids = ", ".join(cell.cell_id for cell in joined.apart)
    return f"left out, no sample in common with the others: {ids}" if ids else ""


def _means(
    joined: CommonSamples, design: CornerDesign, metric: SubsetMetric, axis: str, alpha: float
) -> Iterator[LevelMean]:
    scores = SampleScores(joined.statistics, joined.clusters, joined.strata, joined.combine)
    means = contributions(scores).combine(design.weights)
    halves = _half_widths(means, alpha).tolist()
    is_number = _are_numbers([cell.axes.get(axis) for cell in joined.cells])
    is_share = joined.combine is None and bool(((joined.statistics >= 0) & (joined.statistics <= 1)).all())
    for index, (level, *by) in enumerate(design.corners):
        cell = None if joined.left_out_differ else _single_cell(joined.cells, design.weights[:, index])
        if cell is not None:
            entry = cell.metrics[metric.subset][metric.metric]
            value, low, high = entry["value"], entry.get("ci_low"), entry.get("ci_high")
        else:
            value = float(means.values[index])
            low, high = _ends(value, halves[index], is_share=is_share)
        yield LevelMean(float(level) if is_number else level, "".join(by), value, low, high)


def _half_widths(means: Contributions, alpha: float) -> NDArray[np.float64]:
    """Return half widths by Student's t over groups of samples, float64[n]; infinite without an interval."""
    if not means.has_spread or means.n_clusters < MIN_CLUSTERS:
        return np.full(len(means.values), np.inf)
    widths: NDArray[np.float64] = np.sqrt((means.centred**2).sum(axis=0)) * critical_value(means.df, alpha)
    return widths


def _ends(value: float, half: float, *, is_share: bool) -> tuple[float | None, float | None]:
    """Return the ends of an interval, clipped to [0, 1] for shares."""
    if np.isinf(half):
        return None, None
    low, high = value - half, value + half
    return (max(low, 0.0), min(high, 1.0)) if is_share else (low, high)


def _single_cell(cells: Sequence[CellResult], weights: NDArray[np.float64]) -> CellResult | None:
    """Return the cell of a level that has a single cell."""
    indices = np.flatnonzero(weights)
    return cells[indices[0]] if len(indices) == 1 else None


def _are_numbers(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
