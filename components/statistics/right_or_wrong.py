"""What an effect adds to the variance of a difference where every score is 0 or 1, as right and wrong are.

There two cells cannot differ without disagreeing on samples: a difference comes with variance of its own, which matters
where the cells hardly disagree so far, as near the ceiling. Other scores may differ by the same everywhere.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import SampleScores

_ROUNDING = 1e-12

_FEWEST_CLUSTERS = 15
"""With fewer, cells agree in too many of them for a number that could be relied on: in simulations of 8 to 14 clusters
the difference that was stated was found in a third to two thirds of cases.
"""


@dataclass(frozen=True)
class RightOrWrong:
    """Of two cells, or levels of an axis, whose scores are all 0 or 1: the share of samples on which they disagree (of
    levels: a cell of one and the most alike of the other), and the largest difference that may be between them, 0 with
    too few clusters for any to be told.
    """

    disagreement: float
    room: float

    def with_effect(self, size: float) -> float:
        """What has to take the place of a difference `size`, which stands for so many of the present standard errors,
        when it changes these; infinite if no difference can be as large.

        A difference d makes the cells disagree on a share d of samples more, and so multiplies the variance by
        1 + (d - d^2) / disagreement. That is the most that it can be: on some samples they may come to agree.
        Formula: d^2 = size^2 * (1 + (d - d^2) / disagreement), solved for d.
        """
        added = size**2 / self.disagreement
        difference = (added + math.sqrt(added**2 + 4 * (1 + added) * size**2)) / (2 * (1 + added))
        return difference if difference <= self.room else math.inf

    def without_effect(self, difference: float) -> float:
        """The `size` for which `with_effect` gives this difference."""
        return difference / math.sqrt(1 + (difference - difference**2) / self.disagreement)


def right_or_wrong(scores: SampleScores, weights: NDArray[np.float64]) -> list[RightOrWrong | None]:
    """Of differences between cells, each a sum of the cells times `weights`, float64[n_cells, n], of which the positive
    ones add up to 1 and the negative ones to -1. None for all where scores are no means of 0 and 1, and for one without
    any disagreement.
    """
    own = scores.statistics
    if scores.combine is not None or not ((own == 0) | (own == 1)).all():
        return [None] * weights.shape[1]
    values = own[:, :, 0]
    weighted = values * _sample_weights(scores.strata)[:, np.newaxis]
    means, both = weighted.sum(axis=0), values.T @ weighted
    disagreements = means[:, np.newaxis] + means - 2 * both
    is_enough = len(np.unique(scores.clusters)) >= _FEWEST_CLUSTERS
    return [_of_difference(means, disagreements, own, is_enough=is_enough) for own in weights.T]


def _of_difference(
    means: NDArray[np.float64], disagreements: NDArray[np.float64], weights: NDArray[np.float64], *, is_enough: bool
) -> RightOrWrong | None:
    up, down = weights > 0, weights < 0
    disagreement = float(weights[up] @ disagreements[np.ix_(up, down)].min(axis=1))
    mean = float(means @ np.abs(weights)) / 2
    room = max(mean, 1 - mean) if is_enough else 0.0
    return RightOrWrong(disagreement, room) if disagreement > _ROUNDING else None


def _sample_weights(strata: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of every sample in a mean over strata: they add up to 1."""
    _, place, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    weights: NDArray[np.float64] = 1 / (len(sizes) * sizes[place])
    return weights
