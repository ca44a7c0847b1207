"""Intervals of a mean over groups of samples."""

import numpy as np

from components.means import combine_mean, mean_scores
from components.metrics.interval import Bootstrap, Column


def column(values: list[float]) -> Column:
    return mean_scores(values).statistics, combine_mean


def test_groups_are_resampled_apart() -> None:
    """The variance of a mean of independent means is the mean of their variances over their number."""
    random = np.random.default_rng(0)
    groups = [random.normal(size=200).tolist() for _ in range(4)]
    bootstrap = Bootstrap(4000)
    (macro,) = bootstrap.macro_intervals([([column(group)], None) for group in groups])
    single = [bootstrap.intervals([column(group)])[0] for group in groups]
    widths = [interval.high - interval.low for interval in single]  # type: ignore[operator]
    assert macro.low is not None
    assert macro.high is not None
    np.testing.assert_allclose(macro.high - macro.low, np.sqrt(np.square(widths).sum()) / 4, rtol=0.05)


def test_equal_groups_are_not_drawn_alike() -> None:
    """Drawn alike, two equal groups would have the interval of one; apart, it is narrower by the root of two."""
    values = np.random.default_rng(1).normal(size=300).tolist()
    bootstrap = Bootstrap(4000)
    (one,) = bootstrap.intervals([column(values)])
    (two,) = bootstrap.macro_intervals([([column(values)], None)] * 2)
    ratio = (two.high - two.low) / (one.high - one.low)  # type: ignore[operator]
    assert 0.65 < ratio < 0.77
