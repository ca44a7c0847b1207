"""Personalized PageRank of many queries at once, over a graph without directions."""

from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray


def n_steps(damping: float, tolerance: float) -> int:
    """Return the number of steps after which ranks differ from the exact ones by at most `tolerance` in total.

    A step reduces the difference by the factor `damping`, and it is at most 2 at the beginning. So the number is the
    same for all queries, and a query has the same ranks regardless of the batch.
    """
    return max(ceil(log(tolerance / 2) / log(damping)), 1)


def page_rank(edges: Any, seeds: NDArray[np.float64], damping: float, steps: int) -> NDArray[np.float64]:
    """Return the ranks float64[n_nodes, n_queries] by power iteration.

    `edges` is a symmetric sparse matrix of weights above zero, and each column of `seeds` sums to 1, or is zero. A walk
    continues with probability `damping`, to a neighbour in proportion to the edge weight; otherwise it returns to the
    seeds, as it does from a node without neighbours.
    Source: Page et al. 1999, "The PageRank Citation Ranking"; Haveliwala 2002, "Topic-Sensitive PageRank".
    """
    degree = np.asarray(edges.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    share = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    is_alone = degree.ravel() == 0
    ranks = seeds
    for _ in range(steps):
        returning = (1 - damping) + damping * ranks[is_alone].sum(axis=0)
        ranks = damping * (edges @ (ranks * share)) + returning * seeds
    return ranks
