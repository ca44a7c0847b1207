"""Bounds of an interval from an estimate and how far it may be off."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def bounds_of(value: Values, half: Values, *, is_share: bool) -> tuple[Values, Values]:
    """Low and high: `half` to either side; for a share as far on the scale of its logit, so that they are in [0, 1]. A
    share of 0 or 1 has no logit, and the plain bounds, cut off. NaN stays.
    """
    from scipy.special import expit, logit

    low, high = value - half, value + half
    if not is_share:
        return low, high
    inside = (value > 0) & (value < 1)
    share = np.where(inside, value, 0.5)
    centre, width = logit(share), half / (share * (1 - share))  # the delta method
    return (
        np.where(inside, expit(centre - width), np.maximum(low, 0.0)),
        np.where(inside, expit(centre + width), np.minimum(high, 1.0)),
    )
