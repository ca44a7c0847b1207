"""Sampling errors of the metrics of cells, and whether chance alone explains the differences between cells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.resampling import TOLERANCE, draw_counts, draw_signs, resampled_sums

_MIN_EFFECTIVE_CLUSTERS = 20
"""Clusters of equal size. With fewer, redrawing gives a poor estimate of the size of the errors."""


@dataclass(frozen=True)
class SamplingErrors:
    """Sampling errors of all cells, drawn together.

    `draws` float64[n_draws, n_cells] are the errors, by drawing clusters with replacement. `p` is the probability that
    chance makes equal cells differ as much as these cells do. It is the share of random sign changes of the clusters
    after which the means of the cells differ at least as much, by squared distance from their mean. `n_effective` is
    the number of equally large clusters with the same precision. Source: Canay, Romano & Shaikh 2017, Econometrica
    85(3) (sign changes); Kish 1965, "Survey Sampling" (`n_effective`).
    """

    draws: NDArray[np.float64]
    p: float
    n_clusters: int
    n_effective: float

    @property
    def is_size_known(self) -> bool:
        """True if the draws are precise enough to subtract. `p` needs fewer clusters."""
        return self.n_effective >= _MIN_EFFECTIVE_CLUSTERS * (1 - TOLERANCE)


def sampling_errors(scores: SampleScores, n_draws: int, seed: int) -> SamplingErrors | None:
    """Return the sampling errors, or None if a stratum has a single cluster, because its spread is then unknown."""
    cells = contributions(scores)
    if not cells.has_spread:
        return None
    draws = resampled_sums(draw_counts(cells.n_clusters, n_draws, seed), cells.centred)
    return SamplingErrors(draws, _p(cells, n_draws, seed), cells.n_clusters, 1 / float((cells.shares**2).sum()))


def _p(cells: Contributions, n_draws: int, seed: int) -> float:
    # Difficulty shared by all cells says nothing about their differences.
    apart = cells.total - cells.total.mean(axis=1, keepdims=True)
    squares = float((apart.sum(axis=0) ** 2).sum())
    by_chance = (resampled_sums(draw_signs(cells.n_clusters, n_draws, seed), apart) ** 2).sum(axis=1)
    return float((1 + (by_chance >= squares * (1 - TOLERANCE)).sum()) / (1 + n_draws))
