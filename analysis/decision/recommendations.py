"""Recommended levels of each axis in each scenario: levels that may be the best, if any difference is significant."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.decision.cheapest import MeanCost, cheapest, mean_costs
from analysis.decision.design import LevelDesign
from analysis.decision.scenario_scores import MIN_CLUSTERS, MIN_SAMPLES, Scenario, ScenarioScores, ScoredCells
from analysis.decision.tested_levels import TestedLevels, make_designs, tested_levels
from components.statistics import POWER, benjamini_hochberg, selected_level
from runner.console.display import detectable_text
from runner.results import NO_EFFECTS, LoadedSweep, SubsetMetric, too_few_groups

SHOWN, NOT_SHOWN, SAME, CANCELLED, TOO_FEW = "shown", "not shown", "same", "cancelled", "too few"
"""Verdicts: some levels are significantly worse than the best; no difference is significant; all levels are equal in
every sample; they are equal only in every group of samples; there are too few samples to test.
"""
EQUAL = {SAME: "the same in every sample", CANCELLED: "gains and losses cancel out in every group of samples"}
"""Verdicts on levels that no group of samples tells apart, with their descriptions."""

ALPHA = 0.05
_N_DRAWS = 9_999
_DRAWS_BEYOND = 4
"""Factor by which the number of draws exceeds the inverse of the smallest level at which a difference may be tested."""


@dataclass(frozen=True)
class RecommendationLevel:
    """A level of an axis: the mean over its cells, and the p-value of its being the best (None if not tested)."""

    value: str
    mean: float
    p: float | None
    may_be_best: bool
    cost: MeanCost


@dataclass(frozen=True)
class Recommendation:
    """The recommendation for one axis in one scenario, over the `n` samples that all cells have, in `n_clusters`
    groups, worth `n_effective` of equal size.

    `levels` are best first, over `n_combinations` of the `n_possible` combinations of the other axes; levels `apart`
    could not be compared with them. `best` lists the levels to choose from if the `verdict` is SHOWN. `cheapest` is the
    cheapest of these, or otherwise of all levels, or the fastest if tokens do not count (`weighs_tokens`). It is None
    if all costs are unknown or about equal, and for an axis that does not affect the metric. `p` tests whether all
    levels are equally good; `p_adjusted` is corrected by Benjamini and Hochberg. `detectable` is the true difference
    that is found with probability `POWER` (None if none would be).
    """

    scenario: Scenario
    axis: str
    verdict: str
    levels: tuple[RecommendationLevel, ...]
    best: tuple[str, ...]
    cheapest: str | None
    p: float | None
    p_adjusted: float | None
    detectable: float | None
    n: int
    n_clusters: int
    n_effective: float
    n_combinations: int
    n_possible: int
    apart: tuple[str, ...]
    weighs_tokens: bool

    @property
    def cheapest_label(self) -> str:
        """Label of `cheapest`: "cheapest 64" or, if tokens do not count, "fastest 64"; "" if it is None."""
        return "" if self.cheapest is None else f"{'cheapest' if self.weighs_tokens else 'fastest'} {self.cheapest}"

    @property
    def not_compared(self) -> str:
        """Name the levels that are `apart`, e.g. "not compared: 64, 512", or return "" if there are no such levels."""
        return f"not compared: {', '.join(self.apart)}" if self.apart else ""

    def text(self) -> str:
        """Describe the recommendation, e.g. "256 or 512", or "no significant difference; cheapest 64; smallest
        detectable difference 0.012". Levels that could not be compared are named last.
        """
        return "; ".join(filter(None, [self._choice_text(), self.not_compared]))

    def _choice_text(self) -> str:
        cheap = [self.cheapest_label] if self.cheapest_label else []
        if self.verdict == SHOWN:
            return "; ".join([" or ".join(self.best), *(cheap if len(self.best) > 1 else [])])
        if self.verdict in EQUAL:
            return "; ".join([EQUAL[self.verdict], *cheap])
        if self.verdict == TOO_FEW:
            if self.n >= MIN_SAMPLES:
                return self.too_few_groups()
            return f"too few samples to name one (n = {self.n}, {self.n_clusters} groups)"
        if self.detectable is None:
            return "; ".join([self.too_few_groups(), *cheap])
        return "; ".join(["no significant difference", *cheap, self.smallest_detectable()])

    def too_few_groups(self) -> str:
        """Return the clause about too few groups."""
        return too_few_groups(self.n_clusters, self.n_effective)

    def smallest_detectable(self) -> str:
        """Return e.g. "smallest detectable difference 0.012"; "" if there are too few groups."""
        if self.detectable is None:
            return ""
        return (
            f"smallest detectable difference {detectable_text(self.detectable, [level.mean for level in self.levels])}"
        )

    def as_record(self) -> dict[str, object]:
        """Return the recommendation as plain JSON values."""
        return {**asdict(self), "levels": [_level_record(level) for level in self.levels], "text": self.text()}


def _level_record(level: RecommendationLevel) -> dict[str, object]:
    return {**asdict(level), "cost": level.cost._asdict()}


@dataclass(frozen=True)
class Recommendations:
    """Recommendations by scenario and axis.

    Of the entries that are SHOWN, on average at most a share `alpha` leaves out a truly best level. If no axis makes
    any difference in any scenario, the probability that any entry is SHOWN is at most `alpha`. The correction covers
    `n_tested` entries. The levels of entries that are SHOWN were tested at `level`.
    """

    metric: SubsetMetric
    alpha: float
    level: float
    n_tested: int
    entries: tuple[Recommendation, ...]

    def find(self, subset: str, axis: str) -> Recommendation | None:
        """Return the entry of a scenario and axis; None if levels cannot be compared."""
        return next((one for one in self.entries if (one.scenario.subset, one.axis) == (subset, axis)), None)

    def scenarios(self) -> list[Scenario]:
        """Return the scenarios of the entries, each once, in order."""
        return list(dict.fromkeys(entry.scenario for entry in self.entries))

    def axes(self) -> list[str]:
        """Return the axes of the entries, each once, in order."""
        return list(dict.fromkeys(entry.axis for entry in self.entries))

    def as_record(self) -> dict[str, object]:
        """Return the recommendations as plain JSON values."""
        return {
            "metric": self.metric.metric,
            "subset": self.metric.subset,
            "larger_is_better": self.metric.larger_is_better,
            "alpha": self.alpha,
            "power": POWER,
            "correction": "Benjamini-Hochberg over scenario x axis; within an axis the largest difference of any two",
            "n_tested": self.n_tested,
            "level_of_shown": self.level,
            "fewest_samples": MIN_SAMPLES,
            "fewest_clusters": MIN_CLUSTERS,
            "entries": [entry.as_record() for entry in self.entries],
        }


def recommendations(
    sweep: LoadedSweep, metric: str | SubsetMetric, *, alpha: float = ALPHA, scores: ScenarioScores | None = None
) -> Recommendations:
    """Return the recommendations for "[subset:]metric" in every scenario of the sweep. `scores` are scores that were
    read already. Raises DataError if fewer than two cells have a value, or neither larger nor smaller values are
    better.
    """
    sweep.require_grid(NO_EFFECTS)
    scores = scores or ScenarioScores.read(sweep, metric)
    return recommend_levels(scores.scenarios(), scores.metric, alpha)


def recommend_levels(
    scenarios: Sequence[ScoredCells], metric: SubsetMetric, alpha: float, *, fewest_draws: int = _N_DRAWS
) -> Recommendations:
    """Return the recommendations for every axis in these scenarios. All of them are one family: p-values are corrected
    for all.
    """
    designs_by_cells: dict[tuple[str, ...], list[LevelDesign]] = {}  # most scenarios have the same cells
    scenario_designs = []
    for scored in scenarios:
        key = tuple(cell.cell_id for cell in scored.cells)
        if key not in designs_by_cells:
            designs_by_cells[key] = make_designs(scored)
        scenario_designs.append((scored, designs_by_cells[key]))
    n_draws = max(fewest_draws, int(_DRAWS_BEYOND * sum(len(designs) for _, designs in scenario_designs) / alpha))
    tested = [one for scored, designs in scenario_designs for one in tested_levels(scored, designs, n_draws)]
    p = np.array([one.equality_p_value for one in tested], dtype=np.float64)
    adjusted, level = benjamini_hochberg(p), selected_level(p, alpha)
    entries = [
        _entry(one, float(p_adjusted), level, _entry_level(index, p, alpha), alpha)
        for index, (one, p_adjusted) in enumerate(zip(tested, adjusted, strict=True))
    ]
    return Recommendations(metric, alpha, level, int((~np.isnan(p)).sum()), tuple(entries))


def _entry_level(index: int, p: NDArray[np.float64], alpha: float) -> float:
    """Return the level at which this entry's levels would be tested if the entry passed."""
    if np.isnan(p[index]):
        return 0.0
    return selected_level(np.where(np.arange(len(p)) == index, 0.0, p), alpha)


def _entry(tested: TestedLevels, adjusted: float, level: float, own_level: float, alpha: float) -> Recommendation:
    scored, design = tested.scored, tested.design
    order = np.argsort(-scored.orient(tested.means), kind="stable").tolist()
    level_costs = mean_costs(scored.cells, design.weights, weighs_tokens=scored.weighs_tokens)
    verdict = _verdict(tested, adjusted, alpha)
    p = tested.p if tested.p is not None else [None] * len(order)
    levels = [
        RecommendationLevel(
            design.levels[index],
            float(tested.means[index]),
            None if p[index] is None else float(p[index]),
            may_be_best=verdict != SHOWN or float(p[index]) > level,
            cost=level_costs[index],
        )
        for index in order
    ]
    candidates = [one for one in levels if one.may_be_best]
    is_blind = verdict == SAME and not scored.weighs_tokens  # top_k is blind for a metric of rankings
    index = None if is_blind else cheapest([one.cost for one in candidates])
    return Recommendation(
        scenario=scored.scenario,
        axis=design.axis,
        verdict=verdict,
        levels=tuple(levels),
        best=tuple(one.value for one in candidates) if verdict == SHOWN else (),
        cheapest=None if index is None else candidates[index].value,
        p=_none_if_nan(tested.equality_p_value),
        p_adjusted=_none_if_nan(adjusted),
        detectable=tested.detectable(own_level),
        n=scored.n,
        n_clusters=scored.n_clusters,
        n_effective=scored.contributions.n_effective,
        n_combinations=design.n_combinations,
        n_possible=design.n_possible,
        apart=design.apart,
        weighs_tokens=scored.weighs_tokens,
    )


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else value


def _verdict(tested: TestedLevels, adjusted: float, alpha: float) -> str:
    if tested.p is None:
        return TOO_FEW
    if tested.is_same:
        return CANCELLED if tested.cancels else SAME
    return SHOWN if adjusted <= alpha else NOT_SHOWN
