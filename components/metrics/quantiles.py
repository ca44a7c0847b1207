"""Quantiles of many rows of resampled values at once, to the byte those of `numpy.nanquantile`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def quantiles(values: Values, levels: Sequence[float], n_times: NDArray[np.int64] | None = None) -> Values:
    """float64[n_rows, n_levels] of float64[n_rows, n_values]: NaN where a row has nothing else.

    `n_times` int64[n_values] says how often each value (each column) counts, without it once. Values that are NaN are
    left out. `levels` are in [0, 1]; between two values the quantile is interpolated.
    """
    return _of_rows(values, levels) if n_times is None else _of_weighted(values, levels, n_times)


def _of_rows(values: Values, levels: Sequence[float]) -> Values:
    """Rows without NaN together, the others one by one: NaN moves what counts to other places."""
    found = np.full((len(values), len(levels)), np.nan)
    has_nan = np.isnan(values).any(axis=1)
    last = values.shape[1] - 1
    at = last * np.asarray(levels)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, last)
    if not has_nan.all():
        ordered = np.sort(values[~has_nan], axis=1)  # several times as fast as a partition at four places
        found[~has_nan] = _between(ordered[:, below], ordered[:, above], at)
    for row in np.flatnonzero(has_nan):
        if not np.isnan(values[row]).all():
            found[row] = np.nanquantile(values[row], levels)
    return found


def _of_weighted(values: Values, levels: Sequence[float], n_times: NDArray[np.int64]) -> Values:
    """The values in order, and how many there are up to each of them: NaN is behind the others, and not counted."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    n_up_to = np.cumsum(np.where(np.isnan(ordered), 0, n_times[order]), axis=1)
    n_values = n_up_to[:, -1:]
    at = (n_values - 1) * np.asarray(levels)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, n_values - 1)
    low, high = (np.take_along_axis(ordered, _places(n_up_to, ranks), axis=1) for ranks in (below, above))
    return np.where(n_values > 0, _between(low, high, at), np.nan)


def _places(n_up_to: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per row, where the values of some ranks are."""
    places: NDArray[np.int64] = np.sum(n_up_to[:, np.newaxis] <= ranks[:, :, np.newaxis], axis=2)
    return np.asarray(np.minimum(places, n_up_to.shape[1] - 1))


def _between(low: Values, high: Values, at: Values) -> Values:
    """Interpolated as NumPy does: from the nearer of the two values, so that equal ones give their value."""
    share, width = at - np.floor(at), high - low
    found: Values = np.where(share >= 0.5, high - width * (1 - share), low + width * share)
    return found
