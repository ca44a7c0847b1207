"""Differences between two equally good cells by chance, drawn in two ways. Tests use the way with the larger p-value.

Sign changes swap the two cells in a random half of the clusters, and divide each drawn difference by its own standard
error. This is exact if the cells are interchangeable, however few or unequal the clusters are. It is wrong if the
differences are skewed: the two cells are then equal on average, but not interchangeable. Wins and losses of one size
(`Contributions.are_wins_or_losses`) cannot be skewed if both are equally probable, so for them sign changes alone give
the p-value. It is that of McNemar's exact test.

A studentized bootstrap draws clusters with replacement, and divides each drawn difference by its own standard error. It
follows the skewness of the differences. If two cells differ in few clusters, the bootstrap draws only from these, so
that their number stays constant. The heavier of its two tails counts twice, because the test does not know from which
tail the data come.

Neither way sees a tail that the data lack. `floors` bounds p-values from below for this case.

Source: Hall 1992, "The Bootstrap and Edgeworth Expansion", chapter 3 (studentizing). Canay, Romano & Shaikh 2017,
Econometrica 85(3) (sign changes of few clusters). Davison & Hinkley 1997, "Bootstrap Methods and their Application",
section 2.7 (metrics of a corpus, by linear approximation).
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.statistics.contributions import Contributions
from components.statistics.resampling import TOLERANCE, draw_counts, resampled_sums

_MAX_STUDENTIZED_CLUSTERS = 1000
"""With more clusters, skewness no longer matters: one tail of a t statistic gains what the other one loses."""

_FEW_DIFFERING = 30
"""Differing clusters up to which their number varies noticeably between draws of all clusters."""

_NEGLIGIBLE = 0.1
"""Share of the root mean square. A cluster with a smaller difference does not count as differing."""

_TIMES_AS_FAR = 2.0
"""Assumed extent of a tail that the data lack, as a multiple of the observed differences."""

MIN_SPREAD = 1 / 4
"""Minimum standard error of a draw for scores of a known range, as a share of that of the data. A draw that misses the
only outlier then has a size of 4. The data exceed it with a single outlier only if at least five were expected, and
`range_floors` bounds the p-value.
"""

_NO_SPREAD = 1e-6
"""Share of the sum of squares below which a remainder may be a rounding error."""


def can_be_studentized(cells: Contributions) -> bool:
    """Return True if the bootstrap applies: standard errors are known, and the clusters are few enough to need it."""
    return cells.has_spread and cells.n_clusters <= _MAX_STUDENTIZED_CLUSTERS


def can_be_skewed(cells: Contributions) -> bool:
    """Return True if the bootstrap applies, and equally good cells may have skewed differences."""
    return can_be_studentized(cells) and not cells.are_wins_or_losses


def standard_errors(differences: Contributions) -> NDArray[np.float64]:
    """Return the cluster-robust standard errors of the differences, float64[n]; 0 for a difference that is equal in
    every cluster.
    """
    errors: NDArray[np.float64] = np.sqrt((differences.centred**2).sum(axis=0))
    return errors


def errors_as_one_stratum(differences: Contributions) -> NDArray[np.float64]:
    """Return the standard errors that `resample_signs` uses as its unit, float64[n]."""
    centred = differences.total - differences.shares[:, np.newaxis] * differences.values
    n_clusters = differences.n_clusters
    errors: NDArray[np.float64] = np.sqrt((centred**2).sum(axis=0) * n_clusters / max(1, n_clusters - 1))
    return errors


def scale_sizes(units: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return absolute sizes per unit: 0 for a size of 0, infinite for a nonzero size without spread."""
    absolute = np.abs(sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(absolute == 0.0, 0.0, absolute / units)


def observed_sizes(differences: Contributions) -> NDArray[np.float64]:
    """Return the sizes of the differences themselves, in the unit of `resample_signs`, float64[n]."""
    sizes: NDArray[np.float64] = resample_signs(differences, [np.ones((1, differences.n_clusters))])[0]
    return sizes


def resample_signs(differences: Contributions, draws: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return sizes after random clusters change their sign, float64[n_draws, n], each in standard errors of its own
    draw.
    """
    n = differences.total.shape[1]
    resampled = resampled_sums(draws, np.hstack([differences.total, weight_by_clusters(differences)]))
    return standardize_sums(differences, resampled[:, :n], resampled[:, n:])


def weight_by_clusters(cells: Contributions) -> NDArray[np.float64]:
    """Return contributions times the weights of their clusters: `standardize_sums` needs sums of both."""
    products: NDArray[np.float64] = cells.total * cells.shares[:, np.newaxis]
    return products


def standardize_sums(
    differences: Contributions, sums: NDArray[np.float64], weighted_sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sizes of `sums`, float64[n_draws, n], of contributions after sign changes; infinite where all clusters
    then differ by the same.

    `weighted_sums` are the sums of `weight_by_clusters`. The standard error comes from the remainder of every
    contribution after subtracting its cluster's part of the sum. If clusters have unequal weights, this remainder
    depends on which clusters changed their sign. Strata are treated as one.
    """
    squares = (differences.total**2).sum(axis=0)
    remainder = squares - 2 * sums * weighted_sums + sums**2 * (differences.shares**2).sum()
    remainder[remainder <= _NO_SPREAD * squares] = 0.0
    moved = np.abs(sums) > TOLERANCE * np.abs(differences.total).sum(axis=0)
    n_clusters = differences.n_clusters
    errors = np.sqrt(remainder * n_clusters / max(1, n_clusters - 1))
    return scale_sizes(errors, np.where(moved & (squares > 0.0), sums, 0.0))


def distances(differences: Contributions) -> NDArray[np.float64]:
    """Return the sizes of the differences in standard errors, float64[n]."""
    return scale_sizes(standard_errors(differences), differences.values)


def resample_clusters(
    differences: Contributions, draws: Sequence[NDArray[np.float64]], min_spread: float = 0.0
) -> NDArray[np.float64]:
    """Return distances from the differences, in standard errors, after drawing clusters with replacement,
    float64[n_draws, n].

    `draws` are counts of the clusters. A column that differs in few clusters draws only from these. Each value is the
    larger of two draws in the direction of the heavier tail. A size that a share q of the draws exceeds is therefore
    exceeded by a share 2q of the values. The standard error of a draw is at least the share `min_spread` of that of the
    data. Without it, a draw that misses the only outlier may have no spread, and an infinite size.
    """
    centred = differences.centred
    resampled = resampled_sums(draws, np.hstack([centred, centred**2]))
    gains, squares = np.hsplit(resampled, 2)
    sizes = _heavier_tail(centred, gains, squares, differences.n_clusters, min_spread)
    differing = _differing_clusters(differences)
    for column in np.flatnonzero(_is_sparse(differing)):
        recentred = _centre_on_differing(differences, int(column), differing[:, column])
        gains, squares = _redraw(recentred, len(resampled), differences.n_clusters)
        tail = _heavier_tail(recentred[:, np.newaxis], gains, squares, differences.n_clusters, min_spread)
        sizes[:, column] = tail[:, 0]
    return sizes


def floors(differences: Contributions) -> NDArray[np.float64]:
    """Return the smallest p-values that differences in so few clusters allow, float64[n]; 0 for a column without
    differences.

    Equally good cells may differ by -a in most clusters and by +b in the rest. Their differences in k clusters all have
    the same sign with probability (b / (a + b))^k, and then the data do not show the other side. b is the largest
    difference that scores allow (`Contributions.bound`), at most twice a. Right or wrong answers, one per cluster, have
    a = b: (1/2)^k. If clusters differ in size, a few dominate. So k is their effective number: the number of equally
    large clusters with the same precision.
    Source: the bound comes from a bet on bounded differences (Waudby-Smith & Ramdas 2024, JRSS B 86(1)). b = 2a is an
    assumption, because no test of few clusters is valid for every tail. Effective numbers: Kish 1965, "Survey
    Sampling".
    """
    k, seen = _differing_numbers(differences)
    q = np.maximum(_other_side(seen, np.minimum(differences.bound, _TIMES_AS_FAR * seen)), 0.5)
    return np.where(k > 0.0, q**k, 0.0)


def range_floors(differences: Contributions, reach: float) -> NDArray[np.float64]:
    """Return smallest p-values for scores that differ by at most `reach`, float64[n].

    They are as in `floors`, but b is `reach` if that is more than 2a. If the data show a single cluster of the
    other side, that is too few to estimate its share. The p-value then counts the k ways in which this happens, too.
    """
    k, seen = _differing_numbers(differences)
    unseen = np.minimum(differences.bound, np.maximum(reach, _TIMES_AS_FAR * seen))
    q = np.maximum(_other_side(seen, unseen), 0.5)
    single = np.where(_has_single_outlier(differences), k * (1 - q) * q ** np.maximum(k - 1, 0.0), 0.0)
    return np.where(k > 0.0, q**k + single, 0.0)


def _differing_numbers(differences: Contributions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the effective number of differing clusters and their mean absolute difference, float64[n] each."""
    differing = _differing_clusters(differences)
    shares = np.where(differing, differences.shares[:, np.newaxis], 0.0)
    weights, squares = shares.sum(axis=0), (shares**2).sum(axis=0)
    k = np.divide(weights**2, squares, where=squares > 0.0, out=np.zeros(len(squares)))
    sizes = np.abs(np.where(differing, differences.total, 0.0)).sum(axis=0)
    return k, sizes / np.where(k > 0.0, weights, 1.0)


def _other_side(seen: NDArray[np.float64], unseen: NDArray[np.float64]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = np.divide(unseen, unseen + seen, where=seen > 0.0, out=np.zeros(len(seen)))
    return share


def smallest_floor(n_effective: float, *, is_right_or_wrong: bool) -> float:
    """Return the smallest floor for cells that differ in all clusters, which are worth `n_effective` of equal size.

    `is_right_or_wrong` means that all scores are 0 or 1.
    """
    return math.pow(0.5 if is_right_or_wrong else _TIMES_AS_FAR / (1 + _TIMES_AS_FAR), n_effective)


def _heavier_tail(
    centred: NDArray[np.float64],
    gains: NDArray[np.float64],
    squares: NDArray[np.float64],
    n_clusters: int,
    min_spread: float,
) -> NDArray[np.float64]:
    """Return sizes in the heavier tail, float64[n_draws, n], from redrawn `gains` and sums of `squares` of the same
    shape.

    `centred` float64[:, n] are the contributions from which they were drawn.
    """
    gains[np.abs(gains) <= TOLERANCE * np.abs(centred).sum(axis=0)] = 0.0
    variances = squares - gains**2 / n_clusters
    variances[variances <= TOLERANCE * squares] = 0.0  # a variance that cancels leaves a rounding error
    variances = np.maximum(variances, min_spread**2 * (centred**2).sum(axis=0))
    # A long tail raises the standard error with the gain, so gains against it are larger in standard errors.
    against_tail = np.where((centred**3).sum(axis=0) > 0.0, -gains, gains)
    one_sided = np.where(against_tail > 0.0, scale_sizes(np.sqrt(variances), against_tail), 0.0)
    return np.maximum(one_sided, np.roll(one_sided, 1, axis=0))


def _centre_on_differing(differences: Contributions, column: int, differing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return contributions of the differing clusters minus their mean difference, float64[n_differing]."""
    total, shares = differences.total[differing, column], differences.shares[differing]
    centred: NDArray[np.float64] = total - shares * (total.sum() / shares.sum())
    return centred


def _redraw(
    centred: NDArray[np.float64], n_draws: int, n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw as many clusters with replacement. Return the sums and the sums of squares, float64[n_draws, 1] each."""
    # The seed depends only on the sizes, so that equal input has equal draws in any order of cells.
    draws = resampled_sums(draw_counts(len(centred), n_draws, n_clusters), np.column_stack([centred, centred**2]))
    return draws[:, :1], draws[:, 1:]


def _has_single_outlier(differences: Contributions) -> NDArray[np.bool_]:
    """Return True where one cluster differs in the other direction than the cells, and at least as far as the clusters
    that differ in their direction do on average, bool[n].
    """
    towards = differences.total * np.sign(differences.values)
    towards[~_differing_clusters(differences)] = 0.0
    shares = differences.shares[:, np.newaxis]
    weights = np.where(towards > 0.0, shares, 0.0).sum(axis=0)
    usual = np.maximum(towards, 0.0).sum(axis=0) / np.where(weights > 0.0, weights, 1.0)
    is_single: NDArray[np.bool_] = (-towards >= usual * shares * (1 - TOLERANCE)).sum(axis=0) == 1
    is_single &= weights > 0.0
    return is_single


def _differing_clusters(differences: Contributions) -> NDArray[np.bool_]:
    """Return True where two cells differ in a cluster, bool[n_clusters, n]."""
    negligible = _NEGLIGIBLE * np.sqrt((differences.total**2).mean(axis=0))
    differing: NDArray[np.bool_] = np.abs(differences.total) > negligible
    return differing


def _is_sparse(differing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return True where two cells differ in few clusters, bool[n]."""
    n_differing = differing.sum(axis=0)
    sparse: NDArray[np.bool_] = (n_differing > 0) & (n_differing <= min(_FEW_DIFFERING, len(differing) / 2))
    return sparse
