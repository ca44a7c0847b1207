"""How far apart chance alone drives two cells that are equally good: two answers, of which tests believe the larger.

Sign changes swap the two cells in a random half of the clusters. This is exact where the cells are interchangeable,
however few clusters there are, and wrong where the differences are skewed: the two cells are then equal on average, but
not interchangeable.

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


def can_be_studentised(found: Contributions) -> bool:
    """Whether the bootstrap has a say: where standard errors are known, and the clusters few enough to need it."""
    return found.has_spread and found.n_clusters <= _MOST_CLUSTERS_TO_STUDENTISE


def root_squares(differences: Contributions) -> NDArray[np.float64]:
    """The unit of sign changes, which they leave as it is, float64[n]; 0 for cells that are equal in every cluster."""
    roots: NDArray[np.float64] = np.sqrt((differences.total**2).sum(axis=0))
    return roots


def standard_errors(differences: Contributions) -> NDArray[np.float64]:
    """Of the differences, robust to clusters, float64[n]; 0 for a difference that is the same in every cluster."""
    errors: NDArray[np.float64] = np.sqrt((differences.centred**2).sum(axis=0))
    return errors


def sizes_in(units: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Absolute sizes per unit: 0 for nothing, infinite for something that has no spread."""
    absolute = np.abs(sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(absolute == 0.0, 0.0, absolute / units)


def after_sign_changes(differences: Contributions, draws: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sizes in root squares when random clusters change their sign, float64[n_draws, n]."""
    return sizes_in(root_squares(differences), resampled_sums(draws, differences.total))


def distances(differences: Contributions) -> NDArray[np.float64]:
    """Sizes of the differences in standard errors, float64[n]."""
    studentised = sizes_in(standard_errors(differences), differences.values)
    by_squares = sizes_in(root_squares(differences), differences.total.sum(axis=0))
    return np.where(_is_sparse(differences), in_standard_errors(by_squares, differences), studentised)


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
        redrawn[:, sparse] = in_standard_errors(after_sign_changes(few, swaps), few)
    return redrawn


def in_standard_errors(sizes: NDArray[np.float64], found: Contributions) -> NDArray[np.float64]:
    """From sizes in root squares; infinite where all clusters differ by the same.

    Root squares hold the difference itself besides its spread, the more so the fewer clusters carry the weight.
    """
    spread = np.maximum(1.0 - sizes**2 * (found.shares**2).sum(), 0.0)
    factor = np.sqrt((found.n_clusters - 1) / found.n_clusters)
    return sizes_in(np.sqrt(spread), sizes * factor)


def _is_sparse(differences: Contributions) -> NDArray[np.bool_]:
    """Whether two cells differ in few clusters, bool[n]."""
    n_clusters = differences.n_clusters
    negligible = _NEGLIGIBLE * root_squares(differences) / np.sqrt(n_clusters)
    n_differing = (np.abs(differences.total) > negligible).sum(axis=0)
    sparse: NDArray[np.bool_] = n_differing <= min(_FEW_DIFFERING, n_clusters / 2)
    return sparse
