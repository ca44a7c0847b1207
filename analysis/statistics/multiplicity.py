"""Many comparisons at once: the more are made, the more would look like a difference by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """P-values adjusted for the family that they form, float64[n], each at least as large as it was and at most 1.

    Calling different whatever is at most alpha keeps the chance of even one false call at or below alpha, however the
    comparisons depend on each other. NaN stands for a comparison that could not be made: it stays NaN and does not
    count. An empty family gives an empty array.
    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    rows = np.flatnonzero(~np.isnan(raw))
    rows = rows[np.argsort(raw[rows], kind="stable")]
    n_left = np.arange(len(rows), 0, -1)
    adjusted[rows] = np.minimum(np.maximum.accumulate(raw[rows] * n_left), 1.0)
    return adjusted
