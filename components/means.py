"""Scores of metrics that are the mean of a value per sample."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Scores, ScoreState


def mean_scores(outcomes: Sequence[float | ScoreState]) -> Scores:
    """Return scores with the statistics [value, 1] per sample, or [0, 0] for a sample whose outcome is a state."""
    states = tuple(outcome if isinstance(outcome, ScoreState) else ScoreState.VALUE for outcome in outcomes)
    values = np.array(
        [np.nan if isinstance(outcome, ScoreState) else outcome for outcome in outcomes], dtype=np.float64
    )
    has_value = np.array([state is ScoreState.VALUE for state in states], dtype=bool)
    statistics = np.column_stack([np.where(has_value, values, 0.0), has_value.astype(np.float64)])
    return Scores(statistics, states, values)


def combine_mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means, float64[...], from float64[..., 2] of (sum of values, number of values); NaN without values."""
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return means


def combine_copy(
    combine: Callable[[str, NDArray[np.float64]], NDArray[np.float64]], name: str, sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `Metric.combine` of a copy of the sums, which a class may change in place. Masked values are NaN."""
    return np.ma.filled(combine(name, sums.copy()), np.nan)
