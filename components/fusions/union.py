"""Adds up what several rankings say about the same chunk."""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.records import Hits
from components.text.ranking import sort_hits


def out_of_range(weights: Sequence[float]) -> list[str]:
    """What is wrong with the weights of searches; nothing with none, which are equal ones."""
    if not weights or (all(0 <= weight < inf for weight in weights) and sum(weights) > 0):
        return []
    return [f"weights: got {list(weights)}, expected a number per search, none negative and not all 0"]


def weight_of_each(weights: Sequence[float], n_rankings: int) -> list[float]:
    """The weight of every ranking, from one weight per search.

    Rankings come search by search: where samples have several queries, each search has several rankings in a row, as
    many as any other. Equal weights fit any number of rankings, and none at all are equal ones. Raises ComponentError
    for others that do not fit.
    """
    if len(set(weights)) <= 1:
        return [weights[0] if weights else 1.0] * n_rankings
    if n_rankings % len(weights):
        raise ComponentError(
            f"fusion: {n_rankings} rankings came for the weights {list(weights)}, expected as many for each "
            "weight: give equal weights, or use a retriever with one search per weight"
        )
    return [weight for weight in weights for _ in range(n_rankings // len(weights))]


def sum_by_chunk(chunks: Sequence[NDArray[np.int32]], parts: Sequence[NDArray[np.float64]], depth: int) -> Hits:
    """Sums the parts of the same chunk within each query (float64, in the order of the rankings), and sorts.

    `chunks` are int32[n_queries, depth_i] padded with -1, `parts` the addends of the same shapes.
    """
    chunk = np.concatenate(chunks, axis=1)
    part = np.concatenate(parts, axis=1)
    order = np.argsort(chunk, axis=1, kind="stable")
    chunk = np.take_along_axis(chunk, order, axis=1)
    part = np.take_along_axis(part, order, axis=1)
    # Copies of a chunk are neighbours now, at most one per ranking; all are added to the first of them.
    total = part.copy()
    for back in range(1, len(chunks)):
        same = chunk[:, back:] == chunk[:, :-back]
        total[:, :-back] += np.where(same, part[:, back:], 0)
    repeated = np.zeros(chunk.shape, dtype=bool)
    repeated[:, 1:] = chunk[:, 1:] == chunk[:, :-1]
    return sort_hits(np.where(repeated, -1, chunk).astype(np.int32), total.astype(np.float32), depth)
