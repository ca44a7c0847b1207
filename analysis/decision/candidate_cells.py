"""The cells that may be the best in each scenario, and which of them to take."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.decision.cheapest import MeanCost, mean_costs
from analysis.decision.scenario_scores import Scenario, ScenarioScores, ScoredCells
from components.statistics import (
    PairedTest,
    SampleScores,
    best_cells,
    equal_cells,
    equal_cells_p_value,
    within_standard_error,
)
from runner.results import CellResult, LoadedSweep, SubsetMetric, choose, spans_conditions

ALPHA = 0.05
_TEST = PairedTest()
_MANY_CELLS = 20
_N_SCREENING = 199
_N_DRAWS_OF_MANY = 2_000
"""Draws for many cells. They suffice for p-values that are only compared with alpha, and run time grows with pairs x
draws.
"""


@dataclass(frozen=True)
class Candidate:
    """A cell that may be the best: its mean over the samples that all cells have, and its cost."""

    cell_id: str
    mean: float
    cost: MeanCost


@dataclass(frozen=True)
class Candidates:
    """Cells that may be the best in a scenario, the best mean first.

    `n_cells` cells were compared over the `n` samples that all of them have, in `n_clusters` groups. With probability 1
    - alpha, the truly best cell is among the candidates. This holds for each scenario separately. `take` is the id of
    the cell to take (see `choose`). Tokens are compared if `weighs_tokens`.

    If `has_enough_samples` is False, there are too few samples to rule out any cell, and all cells are candidates. If
    `spans_conditions` is True, the cells were tested under different conditions, so their means are not comparable.
    """

    scenario: Scenario
    n: int
    n_clusters: int
    n_cells: int
    has_enough_samples: bool
    cells: tuple[Candidate, ...]
    weighs_tokens: bool
    spans_conditions: bool = False
    take: str = ""

    def as_record(self) -> dict[str, object]:
        """Return the candidates as plain JSON values."""
        return {**asdict(self), "cells": [{**asdict(one), "cost": one.cost._asdict()} for one in self.cells]}


def candidates(
    sweep: LoadedSweep, metric: str | SubsetMetric, *, alpha: float = ALPHA, scores: ScenarioScores | None = None
) -> tuple[Candidates, ...]:
    """Return the candidates for "[subset:]metric" in every scenario of the sweep.

    `scores` are scores that were read already. In the metric's subset, `compare` has the same candidates. Raises
    DataError if fewer than two cells have a value, or neither larger nor smaller values are better.
    """
    scores = scores or ScenarioScores.read(sweep, metric)
    return tuple(
        _candidates(scored, scores.metric.metric, alpha, is_exact=scored.scenario.subset == scores.metric.subset)
        for scored in scores.scenarios()
    )


def _candidates(scored: ScoredCells, metric: str, alpha: float, *, is_exact: bool) -> Candidates:
    means = scored.samples.means()
    is_in = (
        best_p_values(scored, alpha, is_exact=is_exact) > alpha
        if scored.has_enough_samples
        else np.ones(len(means), np.bool_)
    )
    order = np.argsort(-scored.orient(means), kind="stable")
    indices = [int(index) for index in order if is_in[index]]
    cells = [scored.cells[index] for index in indices]
    costs = mean_costs(scored.cells, np.eye(len(means))[:, indices], weighs_tokens=scored.weighs_tokens)
    entries = [
        Candidate(cell.cell_id, float(means[index]), cost)
        for cell, index, cost in zip(cells, indices, costs, strict=True)
    ]
    take = _take(scored, metric, indices, means).cell_id
    return Candidates(
        scored.scenario,
        scored.n,
        scored.n_clusters,
        len(means),
        scored.has_enough_samples,
        tuple(entries),
        scored.weighs_tokens,
        spans_conditions(scored.cells),
        take,
    )


def _take(scored: ScoredCells, metric: str, indices: Sequence[int], means: NDArray[np.float64]) -> CellResult:
    """Return the cell to take among the cells that may be the best. See `choose`."""
    groups: dict[bytes, list[int]] = {}
    for index in indices:
        groups.setdefault(scored.samples.statistics[:, index].tobytes(), []).append(index)
    firsts = [group[0] for group in groups.values()]
    is_near = within_standard_error(scored.contributions.select(np.array(firsts))).tolist()
    by_id = {cell.cell_id: float(mean) for cell, mean in zip(scored.cells, means, strict=True)}
    return choose(
        [[scored.cells[index] for index in group] for group in groups.values()], is_near, scored.cells, metric, by_id
    ).cell


def best_p_values(scored: ScoredCells, alpha: float, *, is_exact: bool) -> NDArray[np.float64]:
    """Return the p-value of every cell being the best, float64[n_cells].

    Exact p-values, and p-values of few cells, use as many draws as `compare`.
    """
    groups = equal_cells(scored.samples.statistics)
    all_scores = scored.scores
    scores = SampleScores(
        all_scores.statistics[:, list(groups)], all_scores.clusters, all_scores.strata, all_scores.combine
    )
    n_draws = _TEST.n_resamples if is_exact or len(groups) <= _MANY_CELLS else _N_DRAWS_OF_MANY
    if (
        not is_exact
        and (equality_p_value := equal_cells_p_value(scores, n_resamples=_N_SCREENING, seed=_TEST.seed)) > 2 * alpha
    ):
        return np.full(all_scores.statistics.shape[1], equality_p_value)
    confidence_set = best_cells(
        scores, larger_is_better=scored.larger_is_better, alpha=alpha, n_resamples=n_draws, seed=_TEST.seed
    )
    p = np.empty(all_scores.statistics.shape[1])
    for p_of_one, group in zip(confidence_set.p, groups.values(), strict=True):
        p[group] = p_of_one
    return p
