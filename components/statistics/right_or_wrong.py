"""Effect of a difference on its own variance, if every score is 0 (wrong) or 1 (right).

Two such cells can differ only by disagreeing on samples, so a difference adds variance. This matters if the cells
hardly disagree so far, as near the ceiling. Other scores may differ by the same amount everywhere.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import SampleScores

_ROUNDING = 1e-12

_MIN_CLUSTERS = 15
"""With fewer clusters, cells agree in too many of them for a reliable estimate. In simulations of 8 to 14 clusters, the
predicted difference was found in only a third to two thirds of cases.
"""


@dataclass(frozen=True)
class RightOrWrong:
    """Disagreement of two cells, or levels of an axis, whose scores are all 0 or 1.

    `disagreement` is the share of samples on which they disagree. For levels, it compares a cell of one level with the
    most similar cell of the other. `room` is the largest possible difference between them, or 0 if there are too few
    clusters to estimate any.
    """

    disagreement: float
    room: float

    def with_effect(self, size: float) -> float:
        """Return the detectable difference after correcting `size` for the variance that the difference itself adds.

        `size` is the detectable difference under the present standard errors. The result is infinite if no difference
        can be that large. A difference d makes the cells disagree on a share d of samples more, which multiplies the
        variance by at most 1 + (d - d^2) / disagreement. It is less if the cells come to agree on some samples.
        Formula: d^2 = size^2 * (1 + (d - d^2) / disagreement), solved for d.
        """
        added = size**2 / self.disagreement
        difference = (added + math.sqrt(added**2 + 4 * (1 + added) * size**2)) / (2 * (1 + added))
        return difference if difference <= self.room else math.inf

    def without_effect(self, difference: float) -> float:
        """Return the `size` for which `with_effect` returns this difference."""
        return difference / math.sqrt(1 + (difference - difference**2) / self.disagreement)


def right_or_wrong(scores: SampleScores, weights: NDArray[np.float64]) -> list[RightOrWrong | None]:
    """Return a RightOrWrong for each difference between cells, or None for a difference if the cells never disagree.

    Each difference is a sum of the cells times `weights`, float64[n_cells, n]. Its positive weights add up to 1 and its
    negative weights to -1. Return None for all differences if scores are not means of 0 and 1.
    """
    statistics = scores.statistics
    if scores.combine is not None or not ((statistics == 0) | (statistics == 1)).all():
        return [None] * weights.shape[1]
    values = statistics[:, :, 0]
    weighted = values * _sample_weights(scores.strata)[:, np.newaxis]
    means, both = weighted.sum(axis=0), values.T @ weighted
    disagreements = means[:, np.newaxis] + means - 2 * both
    has_enough_clusters = len(np.unique(scores.clusters)) >= _MIN_CLUSTERS
    return [
        _measure_difference(means, disagreements, contrast, has_enough_clusters=has_enough_clusters)
        for contrast in weights.T
    ]


def _measure_difference(
    means: NDArray[np.float64],
    disagreements: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    has_enough_clusters: bool,
) -> RightOrWrong | None:
    up, down = weights > 0, weights < 0
    disagreement = float(weights[up] @ disagreements[np.ix_(up, down)].min(axis=1))
    mean = float(means @ np.abs(weights)) / 2
    room = max(mean, 1 - mean) if has_enough_clusters else 0.0
    return RightOrWrong(disagreement, room) if disagreement > _ROUNDING else None


def _sample_weights(strata: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weight of every sample in a mean over strata. The weights add up to 1."""
    _, stratum, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    weights: NDArray[np.float64] = 1 / (len(sizes) * sizes[stratum])
    return weights
