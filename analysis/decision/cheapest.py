"""Choice of the cheapest of several levels or cells.

The choice is by tokens. If tokens are about equal and the difference in time exceeds its noise, it is by seconds. For a
metric that ignores prompts (see `runner.results.depends_on_prompt`), only seconds decide: longer prompts cannot improve
its values, so tokens could only count against a cell.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.results import (
    TOKENS,
    CellResult,
    answered_share,
    cheap_indices,
    cost_per_answer,
    known_costs,
    latency_noise,
)


class MeanCost(NamedTuple):
    """Tokens and median seconds per question, None if unknown. `given` is the share of answers that are not empty, 1 if
    answers are ignored. `noise` is the noise of the seconds, in seconds.
    """

    tokens: float | None
    seconds: float | None
    given: float = 1.0
    noise: float = 0.0


def mean_costs(cells: Sequence[CellResult], weights: NDArray[np.float64], *, weighs_tokens: bool) -> list[MeanCost]:
    """Return the mean costs of n groups of cells; `weights` is float64[n_cells, n]. `cells` are all cells of a
    scenario.

    Tokens are counts of the provider, if known, otherwise counts of the passages in a prompt. All costs use the same
    count. Tokens are None if they are not compared.
    """
    used = [cell for cell, row in zip(cells, weights, strict=True) if row.any()]
    used_weights = weights[weights.any(axis=1)]
    tokens = _means(TOKENS if weighs_tokens else (), used, used_weights)
    shares = np.array([answered_share(cell) if weighs_tokens else 1.0 for cell in used]) @ used_weights
    noise_by_cell = latency_noise(cells)
    noise = np.array([noise_by_cell[cell.cell_id] for cell in used]) @ used_weights
    seconds = _means(("seconds",), used, used_weights)
    return [MeanCost(*cost) for cost in zip(tokens, seconds, shares.tolist(), noise.tolist(), strict=True)]


def _means(kinds: Sequence[str], cells: Sequence[CellResult], weights: NDArray[np.float64]) -> list[float | None]:
    """Return the means of the first kind of cost that all cells report."""
    known = known_costs(cells, kinds)
    if not known:
        return [None] * weights.shape[1]
    values = np.array([known[0].measure(cell) for cell in cells], dtype=np.float64)
    means: list[float | None] = (values @ weights).tolist()
    return means


def cheapest(costs: Sequence[MeanCost]) -> int | None:
    """Return the index of the cheapest: the fewest tokens per non-empty answer, then the fewest seconds, then the
    first.

    Small differences count as equal. Returns None if all costs are unknown, or if all of several are about equal.
    """
    if all(cost.tokens is None and cost.seconds is None for cost in costs):
        return None
    cheap = cheap_indices(
        [cost_per_answer(cost.tokens, cost.given) for cost in costs],
        [cost_per_answer(cost.seconds, cost.given) for cost in costs],
        [cost.noise for cost in costs],
    )
    return None if 1 < len(costs) == len(cheap) else cheap[0]
