"""Values of cells as the scores that tests compare."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.statistics import SampleScores


def scores_of(
    cells: Sequence[NDArray[np.float64]], clusters: NDArray[np.int64], strata: NDArray[np.int64] | None = None
) -> SampleScores:
    """Return the scores of a mean."""
    values = np.column_stack(cells)
    one_stratum = np.zeros(len(values), dtype=np.int64)
    return SampleScores(values[:, :, np.newaxis], clusters, one_stratum if strata is None else strata)
