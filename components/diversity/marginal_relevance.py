"""Maximal marginal relevance: each hit is chosen by what it adds to the hits before it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from components.records import Hits
from components.text.ranking import prepend_hits, scaled_scores

_RESOLUTION = 6
"""Decimals of a similarity. BLAS sums in varying order, so equal texts tie only after rounding."""


def by_marginal_relevance(
    hits: Hits, depth: int, relevance_weight: float, similarity: Callable[[NDArray[np.int32]], NDArray[np.float64]]
) -> Hits:
    """Reorder the first `depth` hits of every query. The other hits follow in their order.

    Each step chooses the hit with the largest
    weight * relevance - (1 - weight) * (largest similarity to a hit chosen before), which becomes its score. The
    relevance of a hit is its score, scaled to [0, 1] among these hits. Ties keep the previous order.

    `similarity` returns float64[n, n] for the int32[n] chunks of a query. Source: Carbonell and Goldstein 1998, "The
    Use of MMR", section 2.
    """
    head = Hits(hits.chunk[:, :depth], hits.score[:, :depth])
    relevance = scaled_scores(head)
    chunk, score = np.full_like(head.chunk, -1), np.full_like(head.score, -np.inf)
    for row, is_hit in enumerate(head.chunk >= 0):
        chunks = head.chunk[row, is_hit]
        order, values = _choose(
            relevance_weight * relevance[row, is_hit], (1 - relevance_weight) * similarity(chunks).round(_RESOLUTION)
        )
        chunk[row, : len(chunks)], score[row, : len(chunks)] = chunks[order], values
    return prepend_hits(Hits(chunk, score), hits.chunk[:, depth:])


def _choose(
    relevance: NDArray[np.float64], redundancy: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return positions in the order of choice, and the value of each when it was chosen.

    Values never rise, because the remaining hits can only become more redundant.
    """
    n = len(relevance)
    order, values = np.zeros(n, dtype=np.int64), np.zeros(n)
    remaining = relevance.copy()
    max_redundancy = np.full(n, -np.inf)
    for step in range(n):
        value = remaining - max_redundancy if step else remaining
        best = int(np.argmax(value))
        order[step], values[step] = best, value[best]
        remaining[best] = -np.inf
        max_redundancy = np.maximum(max_redundancy, redundancy[best])
    return order, values


def range_errors(depth: int, relevance_weight: float) -> list[str]:
    """Return error messages for a depth below 1 and a weight outside [0, 1]."""
    problems = [] if depth >= 1 else [f"depth: got {depth}, expected at least 1 (for none, use diversity=none)"]
    if not 0 <= relevance_weight <= 1:
        problems.append(f"relevance_weight: got {relevance_weight}, expected a share in [0, 1]")
    return problems
