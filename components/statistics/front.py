"""Cells with the best trade-off between quality and cost."""

import numpy as np
from numpy.typing import NDArray


def dominators(quality: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return bool[n, n], True if cell j (column) is at least as good and as cheap as cell i (row), and better in at
    least one.

    Larger `quality` and smaller `cost` are better, both float64[n] without NaN.
    """
    better = quality[np.newaxis, :] - quality[:, np.newaxis]
    cheaper = cost[:, np.newaxis] - cost[np.newaxis, :]
    return np.logical_and(np.minimum(better, cheaper) >= 0, np.maximum(better, cheaper) > 0)


def pareto_front(quality: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return bool[n], True for cells that no other cell dominates. Equal cells are either all on the front or all off
    it.
    """
    return np.logical_not(dominators(quality, cost).any(axis=1))
