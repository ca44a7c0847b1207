"""Quality against cost."""

import numpy as np
from numpy.typing import NDArray


def dominators(quality: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.bool_]:
    """bool[n, n]: whether cell j (column) is no worse and no dearer than cell i (row), and better in at least one.

    Larger `quality` and smaller `cost` are better, both float64[n] without NaN.
    """
    better = quality[np.newaxis, :] - quality[:, np.newaxis]
    cheaper = cost[:, np.newaxis] - cost[np.newaxis, :]
    return np.logical_and(np.minimum(better, cheaper) >= 0, np.maximum(better, cheaper) > 0)


def pareto_front(quality: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.bool_]:
    """bool[n]: the cells that no other dominates. Cells equal in both are on the front together or not at all."""
    return np.logical_not(dominators(quality, cost).any(axis=1))
