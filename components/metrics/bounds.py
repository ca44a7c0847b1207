"""Bounds of an interval from an estimate and its margin of error."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def bounds_of(value: Values, half: Values, *, is_share: bool) -> tuple[Values, Values]:
    """Return low and high: `value` minus and plus `half`, or `score_bounds` for a share, which are in [0, 1].

    A share of exactly 0 or 1 gets the plain bounds, clipped. NaN stays.
    """
    low, high = value - half, value + half
    if not is_share:
        return low, high
    inside = (value > 0) & (value < 1)
    share = np.where(inside, value, 0.5)
    score_low, score_high = score_bounds(share, half**2 / (share * (1 - share)))
    return (
        np.where(inside, score_low, np.maximum(low, 0.0)),
        np.where(inside, score_high, np.minimum(high, 1.0)),
    )


def score_bounds(share: Values, spread: Values) -> tuple[Values, Values]:
    """Return the shares m for which (share - m)^2 = `spread` * m * (1 - m), within [0, 1].

    `spread` is z^2 / n for a mean of n zeros and ones. For other values in [0, 1], it is z^2 times the variance of the
    mean, relative to share * (1 - share). That variance is assumed to shrink towards 0 and 1 as it does for zeros and
    ones.
    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    """
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return np.fmax(centre - half, 0.0), np.fmin(centre + half, 1.0)
