"""Maximal marginal relevance: each hit is chosen for what it adds to those chosen before."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from components.records import Hits
from components.text.ranking import in_front, scaled_scores

_RESOLUTION = 6
"""Decimals of a similarity. BLAS may add in any order, so equal texts tie only after rounding."""


def by_marginal_relevance(
    hits: Hits, depth: int, relevance_weight: float, similarity: Callable[[NDArray[np.int32]], NDArray[np.float64]]
) -> Hits:
    """The first `depth` hits of every query, each time the one with the largest
    weight * relevance - (1 - weight) * (largest similarity to a hit that was chosen before); the others behind them.
    These values are the new scores. The relevance of a hit is its score, scaled to [0, 1] among these hits. Of equal
    hits the one that was further up is chosen.

    `similarity` gives float64[n, n] for the int32[n] chunks of a query. Source: Carbonell and Goldstein 1998, "The Use
    of MMR", section 2.
    """
    head = Hits(hits.chunk[:, :depth], hits.score[:, :depth])
    relevance = scaled_scores(head)
    chunk, score = np.full_like(head.chunk, -1), np.full_like(head.score, -np.inf)
    for row, found in enumerate(head.chunk >= 0):
        own = head.chunk[row, found]
        order, values = _chosen(
            relevance_weight * relevance[row, found], (1 - relevance_weight) * similarity(own).round(_RESOLUTION)
        )
        chunk[row, : len(own)], score[row, : len(own)] = own[order], values
    return in_front(Hits(chunk, score), hits.chunk[:, depth:])


def _chosen(
    relevance: NDArray[np.float64], redundancy: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Positions in the order in which they are chosen, and the value that each had then: these never rise, since what
    is left can only become more redundant.
    """
    n = len(relevance)
    order, values = np.zeros(n, dtype=np.int64), np.zeros(n)
    left = relevance.copy()
    most_redundant = np.full(n, -np.inf)
    for place in range(n):
        value = left - most_redundant if place else left
        best = int(np.argmax(value))
        order[place], values[place] = best, value[best]
        left[best] = -np.inf
        most_redundant = np.maximum(most_redundant, redundancy[best])
    return order, values


def mistakes_of(depth: int, relevance_weight: float) -> list[str]:
    """What is wrong with the numbers."""
    mistakes = [] if depth >= 1 else [f"depth: got {depth}, expected at least 1 (for none, use diversity=none)"]
    if not 0 <= relevance_weight <= 1:
        mistakes.append(f"relevance_weight: got {relevance_weight}, expected a share in [0, 1]")
    return mistakes
