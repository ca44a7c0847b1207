"""Which of several levels, or cells, is the cheapest: by tokens, and by seconds where tokens are about equal and the
difference in time exceeds its noise.

By a metric that does not see prompts (see `runner.results.sees_prompts`) seconds alone decide: more tokens in a prompt
cannot show in its values, so that they would only ever count against it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.results import TOKENS, CellResult, cheap_places, known_costs, noise_of_seconds, per_given, share_given


class MeanCost(NamedTuple):
    """Tokens and median seconds per question, None where not known; the share of answers that are not empty, 1 where
    answers do not count; and the noise of the seconds, in seconds.
    """

    tokens: float | None
    seconds: float | None
    given: float = 1.0
    noise: float = 0.0


def mean_costs(cells: Sequence[CellResult], weights: NDArray[np.float64], *, weighs_tokens: bool) -> list[MeanCost]:
    """Return the costs of groups of cells: float64[n_cells, n] of weights gives n. `cells` are all cells of a scenario.

    Tokens are those that the provider counted, where it counted any, or else those of the passages in a prompt: all
    costs are of one kind. None for all where they do not count.
    """
    used = [cell for cell, row in zip(cells, weights, strict=True) if row.any()]
    own = weights[weights.any(axis=1)]
    tokens = _means(TOKENS if weighs_tokens else (), used, own)
    given = np.array([share_given(cell) if weighs_tokens else 1.0 for cell in used]) @ own
    of_cells = noise_of_seconds(cells)
    noise = np.array([of_cells[cell.cell_id] for cell in used]) @ own
    seconds = _means(("seconds",), used, own)
    return [MeanCost(*cost) for cost in zip(tokens, seconds, given.tolist(), noise.tolist(), strict=True)]


def _means(kinds: Sequence[str], cells: Sequence[CellResult], weights: NDArray[np.float64]) -> list[float | None]:
    """Of the first kind that is known of all cells."""
    known = known_costs(cells, kinds)
    if not known:
        return [None] * weights.shape[1]
    values = np.array([known[0].of(cell) for cell in cells], dtype=np.float64)
    means: list[float | None] = (values @ weights).tolist()
    return means


def cheapest(of: Sequence[MeanCost]) -> int | None:
    """The place of the cheapest: fewest tokens per answer that is not empty, all with hardly more counted as equal; of
    these the fastest, and of about equally fast ones the first. None where no cost is known, and where all of several
    cost about the same.
    """
    if all(cost.tokens is None and cost.seconds is None for cost in of):
        return None
    cheap = cheap_places(
        [per_given(cost.tokens, cost.given) for cost in of],
        [per_given(cost.seconds, cost.given) for cost in of],
        [cost.noise for cost in of],
    )
    return None if 1 < len(of) == len(cheap) else cheap[0]
