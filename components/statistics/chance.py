"""How far apart chance alone drives two cells that are equally good: two answers, of which tests believe the larger.

Sign changes swap the two cells in a random half of the clusters, and divide each drawn difference by its own standard
error. This is exact where the cells are interchangeable, however few clusters there are and however unequal, and wrong
where the differences are skewed: the two cells are then equal on average, but not interchangeable.

A studentised bootstrap draws clusters with replacement and divides each drawn difference by its own standard error. It
follows the skewness of the differences, and is wrong where few clusters differ at all: a draw without these has no
standard error. There the sign changes stand in for it.

Source: Hall 1992, "The Bootstrap and Edgeworth Expansion", chapter 3 (studentising); Canay, Romano & Shaikh 2017,
Econometrica 85(3) (sign changes of few clusters); Davison & Hinkley 1997, "Bootstrap Methods and their Application",
section 2.7 (metrics of a corpus, by linear approximation).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import Contributions
from components.statistics.resampling import TOLERANCE, resampled_sums

_MOST_CLUSTERS_TO_STUDENTISE = 1000
"""With more clusters skewness no longer matters: what one tail of a t statistic gains, the other one loses."""


_FEW_DIFFERING = 10
"""Clusters in which two cells differ, so few that draws without any of them are common: e^-10 of them and more."""

_NEGLIGIBLE = 0.1
"""Of the root mean square: a smaller difference in a cluster counts as none where the differing ones are counted."""

_NO_SPREAD = 1e-6
"""Of the squares: less than this is hard to tell from rounding."""


def can_be_studentised(found: Contributions) -> bool:
    """Whether the bootstrap has a say: where standard errors are known, and the clusters few enough to need it."""
    return found.has_spread and found.n_clusters <= _MOST_CLUSTERS_TO_STUDENTISE


def standard_errors(differences: Contributions) -> NDArray[np.float64]:
    """Of the differences, robust to clusters, float64[n]; 0 for a difference that is the same in every cluster."""
    errors: NDArray[np.float64] = np.sqrt((differences.centred**2).sum(axis=0))
    return errors


def errors_as_one_stratum(differences: Contributions) -> NDArray[np.float64]:
    """The standard errors that `after_sign_changes` counts in, float64[n]."""
    centred = differences.total - differences.shares[:, np.newaxis] * differences.values
    n_clusters = differences.n_clusters
    errors: NDArray[np.float64] = np.sqrt((centred**2).sum(axis=0) * n_clusters / max(1, n_clusters - 1))
    return errors


def sizes_in(units: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Absolute sizes per unit: 0 for nothing, infinite for something that has no spread."""
    absolute = np.abs(sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(absolute == 0.0, 0.0, absolute / units)


def without_sign_changes(differences: Contributions) -> NDArray[np.float64]:
    """Sizes of the differences themselves, in the unit of `after_sign_changes`, float64[n]."""
    sizes: NDArray[np.float64] = after_sign_changes(differences, [np.ones((1, differences.n_clusters))])[0]
    return sizes


def after_sign_changes(differences: Contributions, draws: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sizes in standard errors of their own when random clusters change their sign, float64[n_draws, n]."""
    n = differences.total.shape[1]
    drawn = resampled_sums(draws, np.hstack([differences.total, weighted(differences)]))
    return in_standard_errors(differences, drawn[:, :n], drawn[:, n:])


def weighted(found: Contributions) -> NDArray[np.float64]:
    """Contributions times the weights of their clusters: `in_standard_errors` needs sums of both."""
    products: NDArray[np.float64] = found.total * found.shares[:, np.newaxis]
    return products


def in_standard_errors(
    differences: Contributions, sums: NDArray[np.float64], weighted_sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sizes of `sums`, float64[n_draws, n], of contributions that changed their sign; `weighted_sums` are those of
    `weighted`. Infinite where all clusters then differ by the same.

    A standard error is of what is left of every contribution when its cluster's part of the sum is taken off; this
    hangs on which clusters changed their sign where some weigh more than others. Strata are taken as one.
    """
    squares = (differences.total**2).sum(axis=0)
    left = squares - 2 * sums * weighted_sums + sums**2 * (differences.shares**2).sum()
    left[left <= _NO_SPREAD * squares] = 0.0
    moved = np.abs(sums) > TOLERANCE * np.abs(differences.total).sum(axis=0)
    n_clusters = differences.n_clusters
    errors = np.sqrt(left * n_clusters / max(1, n_clusters - 1))
    return sizes_in(errors, np.where(moved & (squares > 0.0), sums, 0.0))


def distances(differences: Contributions) -> NDArray[np.float64]:
    """Sizes of the differences in standard errors, float64[n]."""
    studentised = sizes_in(standard_errors(differences), differences.values)
    return np.where(_is_sparse(differences), without_sign_changes(differences), studentised)


def after_redrawing(
    differences: Contributions, draws: Iterable[NDArray[np.float64]], swaps: Iterable[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Distances from the differences, in standard errors, when clusters are drawn with replacement (`draws`), or change
    their sign (`swaps`, as many) where two cells differ in few of them: float64[n_draws, n].
    """
    n_clusters, n = differences.centred.shape
    drawn = resampled_sums(draws, np.hstack([differences.centred, differences.centred**2]))
    gains, squares = drawn[:, :n], drawn[:, n:]
    gains[np.abs(gains) <= TOLERANCE * np.abs(differences.centred).sum(axis=0)] = 0.0
    variances = squares - gains**2 / n_clusters
    variances[variances <= TOLERANCE * squares] = 0.0  # what is left of a variance that cancels is rounding
    redrawn = sizes_in(np.sqrt(variances), gains)
    if (sparse := np.flatnonzero(_is_sparse(differences))).size:
        few = differences.only(sparse)
        redrawn[:, sparse] = after_sign_changes(few, swaps)
    return redrawn


def _is_sparse(differences: Contributions) -> NDArray[np.bool_]:
    """Whether two cells differ in few clusters, bool[n]."""
    n_clusters = differences.n_clusters
    negligible = _NEGLIGIBLE * np.sqrt((differences.total**2).mean(axis=0))
    n_differing = (np.abs(differences.total) > negligible).sum(axis=0)
    sparse: NDArray[np.bool_] = n_differing <= min(_FEW_DIFFERING, n_clusters / 2)
    return sparse
