"""How far the metrics of cells are from those of endlessly many samples, and whether chance alone could part them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.resampling import TOLERANCE, counts, resampled_sums, swaps

_FEWEST_EFFECTIVE = 20
"""Groups of equal size: with fewer, what redrawing says of the size of the errors is too far from the truth."""


@dataclass(frozen=True)
class SamplingErrors:
    """`draws` float64[n_draws, n_cells]: errors of all cells together, by drawing clusters with replacement.

    `p` is how often chance alone would make equal cells differ as much as these: the share of random changes of the
    clusters' signs after which the means of the cells lie as far apart, in squares about their own mean. `n_effective`
    is the number of clusters of equal size that the clusters are worth.
    Source: Canay, Romano & Shaikh 2017, Econometrica 85(3) (sign changes); Kish 1965, "Survey Sampling" (the number).
    """

    draws: NDArray[np.float64]
    p: float
    n_clusters: int
    n_effective: float

    @property
    def is_size_known(self) -> bool:
        """Whether the draws are good enough to be taken off; `p` needs fewer clusters."""
        return self.n_effective >= _FEWEST_EFFECTIVE * (1 - TOLERANCE)


def sampling_errors(scores: SampleScores, n_draws: int, seed: int) -> SamplingErrors | None:
    """None where a stratum has a single cluster, so that its spread is not known."""
    found = contributions(scores)
    if not found.has_spread:
        return None
    draws = resampled_sums(counts(found.n_clusters, n_draws, seed), found.centred)
    return SamplingErrors(draws, _p(found, n_draws, seed), found.n_clusters, 1 / float((found.shares**2).sum()))


def _p(found: Contributions, n_draws: int, seed: int) -> float:
    apart = found.total - found.total.mean(axis=1, keepdims=True)  # what is hard for all cells parts none of them
    squares = float((apart.sum(axis=0) ** 2).sum())
    by_chance = (resampled_sums(swaps(found.n_clusters, n_draws, seed), apart) ** 2).sum(axis=1)
    return float((1 + (by_chance >= squares * (1 - TOLERANCE)).sum()) / (1 + n_draws))
