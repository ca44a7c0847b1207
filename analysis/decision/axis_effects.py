"""Effects of axes: differences between levels, with simultaneous confidence intervals."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.decision.design import LevelDesign, level_design
from analysis.decision.interactions import Interaction, find_interactions
from analysis.decision.scenario_scores import MIN_CLUSTERS, Scenario, ScenarioScores, ScoredCells
from components.statistics import Contrasts, contrasts, pairs
from runner.results import NO_EFFECTS, LoadedSweep, SubsetMetric, common_base, format_level

BASE, BEST = "base", "best"
"""The reference level: the base of the sweep, or the best level on these samples."""

ALPHA = 0.05
_N_DRAWS, _SEED = 9_999, 0


@dataclass(frozen=True)
class LevelEffect:
    """A level of an axis: its mean, and its difference from the reference with an interval; None for the reference
    itself.

    There is no interval with too few groups of samples. `p` and the interval are corrected for all compared differences
    of the axis. `is_shown` is true if `p` is at most alpha.
    """

    value: str
    mean: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    is_shown: bool = False


@dataclass(frozen=True)
class AxisEffect:
    """Levels of an axis, best first, averaged over `n_combinations` of the `n_possible` combinations of the other axes.

    The intervals of one axis hold simultaneously with probability 1 - alpha. If the reference is the base, which is
    known beforehand, they cover the differences from it. If it is the best level, they cover the differences of all
    pairs of levels.
    """

    axis: str
    reference: str
    reference_is: str
    levels: tuple[LevelEffect, ...]
    n_combinations: int
    n_possible: int
    apart: tuple[str, ...]


@dataclass(frozen=True)
class AxisEffects:
    """Effects of all axes in one scenario, over the `n` samples that all cells have, in `n_clusters` groups."""

    scenario: Scenario
    metric: SubsetMetric
    alpha: float
    n: int
    n_clusters: int
    axes: tuple[AxisEffect, ...]
    interactions: tuple[Interaction, ...]

    def as_record(self) -> dict[str, object]:
        """Return the effects as plain JSON values."""
        return {
            **asdict(self),
            "interactions": [{**asdict(one), "text": one.text()} for one in self.interactions],
        }


def axis_effects(
    sweep: LoadedSweep, metric: str | SubsetMetric, *, alpha: float = ALPHA, scores: ScenarioScores | None = None
) -> AxisEffects:
    """Return the effects for "[subset:]metric" in that subset. `scores` are scores of this metric that were read
    already, in any subset. Raises DataError if fewer than two cells have a value, or neither larger nor smaller values
    are better.
    """
    sweep.require_grid(NO_EFFECTS)
    scores = scores or ScenarioScores.read(sweep, metric)
    parsed = sweep.metric(metric) if isinstance(metric, str) else metric
    scored = scores.for_metric(parsed)
    base = common_base((cell.axes for cell in scored.cells), list(scored.levels)) or {}
    effects = [
        _axis_effect(scored, design, format_level(base[axis]) if axis in base else None, alpha)
        for axis in scored.axes
        if (design := level_design(axis, scored.levels))
    ]
    return AxisEffects(
        scored.scenario, parsed, alpha, scored.n, scored.n_clusters, tuple(effects), find_interactions(scored, alpha)
    )


def _axis_effect(scored: ScoredCells, design: LevelDesign, base: str | None, alpha: float) -> AxisEffect:
    means = scored.contributions.values @ design.weights
    order = np.argsort(-scored.orient(means), kind="stable").tolist()
    has_base = base in design.levels
    reference = design.levels.index(base) if base is not None and has_base else order[0]
    others = [index for index in order if index != reference]
    difference_by_level = dict(
        zip(
            others,
            _differences_from(scored, design, reference, others, alpha, baseline_is_best=not has_base),
            strict=True,
        )
    )
    levels = tuple(
        LevelEffect(design.levels[index], float(means[index]), *difference_by_level.get(index, ())) for index in order
    )
    return AxisEffect(
        design.axis,
        design.levels[reference],
        BASE if has_base else BEST,
        levels,
        design.n_combinations,
        design.n_possible,
        design.apart,
    )


_Difference = tuple[float, float | None, float | None, float, bool]


def _differences_from(
    scored: ScoredCells, design: LevelDesign, reference: int, others: list[int], alpha: float, *, baseline_is_best: bool
) -> list[_Difference]:
    """Return the differences of the others from the reference. If the same samples picked the reference, correct them
    for all pairs.
    """
    level_pairs = [(index, reference) for index in others]
    if baseline_is_best:
        unordered = {frozenset(pair) for pair in level_pairs}
        level_pairs += [pair for pair in pairs(len(design.levels)) if frozenset(pair) not in unordered]
    weights = np.column_stack([design.weights[:, one] - design.weights[:, other] for one, other in level_pairs])
    estimates = contrasts(scored.contributions, weights, _N_DRAWS, _SEED)
    return differences(estimates, alpha)[: len(others)]


def differences(estimates: Contrasts, alpha: float) -> list[_Difference]:
    """Return value, low, high, p and significance of every contrast, with simultaneous intervals."""
    width = _widths(estimates, estimates.tail().critical(alpha))
    rows = zip(estimates.values.tolist(), width.tolist(), estimates.p().tolist(), strict=True)
    return [
        (value, *((value - half, value + half) if np.isfinite(half) else (None, None)), p, p <= alpha)
        for value, half, p in rows
    ]


def _widths(estimates: Contrasts, critical: float) -> NDArray[np.float64]:
    """Return half widths of intervals, float64[n]: infinite if unknown, 0 for contrasts that are 0 in every group."""
    if not estimates.has_spread or estimates.n_clusters < MIN_CLUSTERS:
        return np.full(len(estimates.values), np.inf)
    with np.errstate(invalid="ignore"):
        return np.where(estimates.errors == 0.0, 0.0, estimates.errors * critical)
