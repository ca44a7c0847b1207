"""Intervals contain the truth about 95 times in 100, as they promise, and never fewer than 92, except for two extreme
kinds of data (`python -m benchmarks coverage` goes through more settings, with more data sets in each).
"""

import numpy as np
import pytest

from benchmarks.coverage import (
    KINDS,
    MIN_COVERAGE,
    MOSTLY_ALIKE,
    MRR,
    NEARLY_ONE,
    ROUGE,
    ZERO_ONE,
    Kind,
    coverage,
    interval_widths,
    sizes,
)

N_DATA_SETS = 1000


@pytest.mark.parametrize("n_clusters", [5, 10, 29, 40])
@pytest.mark.parametrize("layout", ["single", "unequal"])
@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_interval_coverage_is_sufficient_from_five_clusters(kind: Kind, layout: str, n_clusters: int) -> None:
    correlation = 0.3 if layout == "unequal" else 0.0
    assert coverage(kind, sizes(layout, n_clusters), correlation, N_DATA_SETS) >= kind.fewest


@pytest.mark.parametrize("n_clusters", [60, 100, 300])
@pytest.mark.parametrize("kind", MOSTLY_ALIKE, ids=[kind.name for kind in MOSTLY_ALIKE])
def test_interval_covers_with_many_mostly_equal_clusters(kind: Kind, n_clusters: int) -> None:
    assert coverage(kind, sizes("single", n_clusters), 0.0, N_DATA_SETS) >= MIN_COVERAGE


@pytest.mark.parametrize("kind", [ROUGE, *ZERO_ONE], ids=["rouge", ".5", ".9", ".98"])
def test_one_cluster_with_half_of_the_samples_counts_as_few_clusters(kind: Kind) -> None:
    assert coverage(kind, [40, *[1] * 40], 0.5, N_DATA_SETS) >= MIN_COVERAGE


@pytest.mark.parametrize(("kind", "widest"), [(NEARLY_ONE, 0.2), (MRR, 0.3)], ids=["nearly 1", "MRR"])
def test_intervals_near_one_are_narrow(kind: Kind, widest: float) -> None:
    """Intervals on the logit scale would have a mean width of .35, and a twentieth of them would be wider than .75."""
    widths = interval_widths(kind, sizes("unequal", 10), 0.3, N_DATA_SETS)
    assert np.mean(widths) < widest
    assert np.quantile(widths, 0.95) < 0.45


def test_interval_coverage_is_not_excessive() -> None:
    assert coverage(ROUGE, sizes("four", 20), 0.3, N_DATA_SETS) < 0.97
    assert coverage(ZERO_ONE[0], sizes("four", 40), 0.3, N_DATA_SETS) < 0.98
