"""Values of cells as the scores that tests compare."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.statistics import SampleScores


def scores_of(
    cells: Sequence[NDArray[np.float64]], clusters: NDArray[np.int64], strata: NDArray[np.int64] | None = None
) -> SampleScores:
    """Of a mean; NaN is "no value"."""
    values = np.column_stack(cells)
    return SampleScores(
        np.nan_to_num(values)[:, :, np.newaxis],
        ~np.isnan(values),
        clusters,
        np.zeros(len(values), dtype=np.int64) if strata is None else strata,
    )
