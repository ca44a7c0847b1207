"""Quantiles of many rows of resampled values, equal to `numpy.nanquantile` to the byte."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def quantiles(values: Values, levels: Sequence[float]) -> Values:
    """Return quantiles, float64[n_rows, n_levels], of float64[n_rows, n_values]; NaN for a row of NaN.

    NaN values are left out. `levels` are in [0, 1]. Quantiles between two values are interpolated.
    """
    # Rows without NaN are computed together. NaN shifts the places of quantiles, so other rows go one by one.
    result = np.full((len(values), len(levels)), np.nan)
    has_nan = np.isnan(values).any(axis=1)
    last = values.shape[1] - 1
    at = last * np.asarray(levels)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, last)
    if not has_nan.all():
        ordered = np.sort(values[~has_nan], axis=1)  # several times as fast as a partition at four places
        result[~has_nan] = _interpolate(ordered[:, below], ordered[:, above], at)
    for row in np.flatnonzero(has_nan):
        if not np.isnan(values[row]).all():
            result[row] = np.nanquantile(values[row], levels)
    return result


def _interpolate(low: Values, high: Values, at: Values) -> Values:
    """Interpolate as NumPy does: from the nearer of the two values, so that equal values give the same value."""
    share, width = at - np.floor(at), high - low
    interpolated: Values = np.where(share >= 0.5, high - width * (1 - share), low + width * share)
    return interpolated
