"""How far the metrics of cells are from those of endlessly many samples."""

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import SampleScores, contributions
from components.statistics.resampling import counts, resampled_sums


def sampling_errors(scores: SampleScores, n_draws: int, seed: int) -> NDArray[np.float64] | None:
    """Draws of the errors of all cells together, float64[n_draws, n_cells], by drawing clusters with replacement. None
    where a stratum has a single cluster, so that its spread is not known.
    """
    found = contributions(scores)
    if not found.has_spread:
        return None
    return resampled_sums(counts(found.n_clusters, n_draws, seed), found.centred)
