"""Sums over several rankings by chunk."""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.records import Hits
from components.text.ranking import sort_hits


def out_of_range(weights: Sequence[float]) -> list[str]:
    """Return an error message for weights of searches that are out of range. Empty weights mean equal weights."""
    if not weights or (all(0 <= weight < inf for weight in weights) and sum(weights) > 0):
        return []
    return [f"weights: got {list(weights)}, expected a number per search, none negative and not all 0"]


def ranking_weights(weights: Sequence[float], n_rankings: int) -> list[float]:
    """Return the weight of each ranking, from one weight per search.

    Rankings are ordered by search. If samples have several queries, each search has the same number of consecutive
    rankings. Equal or empty weights fit any number of rankings. Raises ComponentError if the number of rankings is not
    a multiple of the number of other weights.
    """
    if len(set(weights)) <= 1:
        return [weights[0] if weights else 1.0] * n_rankings
    if n_rankings % len(weights):
        raise ComponentError(
            f"fusion: got {n_rankings} rankings for the weights {list(weights)}, expected an equal number for each "
            "weight. Use equal weights, or a retriever with one search per weight."
        )
    return [weight for weight in weights for _ in range(n_rankings // len(weights))]


def sum_by_chunk(chunks: Sequence[NDArray[np.int32]], parts: Sequence[NDArray[np.float64]], depth: int) -> Hits:
    """Return the sums of all parts of a chunk per query, added in float64 in the order of the rankings, sorted.

    `chunks` are int32[n_queries, depth_i] padded with -1, and `parts` the summands in the same shapes.
    """
    chunk = np.concatenate(chunks, axis=1)
    part = np.concatenate(parts, axis=1)
    order = np.argsort(chunk, axis=1, kind="stable")
    chunk = np.take_along_axis(chunk, order, axis=1)
    part = np.take_along_axis(part, order, axis=1)
    # Copies of a chunk are now adjacent, at most one per ranking. All are added to the first of them.
    total = part.copy()
    for back in range(1, len(chunks)):
        same = chunk[:, back:] == chunk[:, :-back]
        total[:, :-back] += np.where(same, part[:, back:], 0)
    repeated = np.zeros(chunk.shape, dtype=bool)
    repeated[:, 1:] = chunk[:, 1:] == chunk[:, :-1]
    return sort_hits(np.where(repeated, -1, chunk).astype(np.int32), total.astype(np.float32), depth)
