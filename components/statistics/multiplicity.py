"""Many comparisons at once: the more are made, the more of them look like a difference by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """P-values adjusted for the family that they form, float64[n], none smaller than before or larger than 1.

    If only comparisons with an adjusted p of at most alpha are called different, the probability of even one false call
    is at most alpha, however the comparisons depend on each other. NaN marks a comparison that could not be made: it
    stays NaN and does not count. An empty family gives an empty array.
    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    rows = np.flatnonzero(~np.isnan(raw))
    rows = rows[np.argsort(raw[rows], kind="stable")]
    # The smallest p is multiplied by n, the next by n - 1, ...; the running maximum keeps their order.
    n_left = np.arange(len(rows), 0, -1)
    adjusted[rows] = np.minimum(np.maximum.accumulate(raw[rows] * n_left), 1.0)
    return adjusted
