"""Which cells may be the best, when the same samples pick the best and test it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.statistics.contributions import SampleScores, own_contributions
from analysis.statistics.resampling import TOLERANCE, resampled_sums, swaps


class BestCells(NamedTuple):
    """`p` float64[n_cells]: how often chance alone would make a truly best cell fall this far behind another one; NaN
    for a cell without a value. `critical` is the difference between any two of the cells, in standard errors of that
    difference, that chance exceeds only with probability alpha; None without cells.
    """

    p: NDArray[np.float64]
    critical: float | None


def best_cells(scores: SampleScores, *, larger_is_better: bool, alpha: float, n_resamples: int, seed: int) -> BestCells:
    """Cells with p at most alpha are not the best. The probability that any truly best cell is among them is at most
    alpha, however many cells are equally good, and although none was named beforehand.

    Each cell's largest deficit against any other, in standard errors, is compared with the largest difference between
    any two cells when a random half of the clusters change their sign. Cells that are further behind than chance
    explains are set aside, and the rest are tested again among themselves, until no more are.
    Source: the model confidence set of Hansen, Lunde & Nason 2011, Econometrica 79(2), with the statistic T_R, here by
    sign changes; all cells that fail a round are set aside at once, as in Romano & Wolf 2005, Econometrica 73(4).
    """
    found = own_contributions(scores)
    drawn = resampled_sums(swaps(len(found.total), n_resamples, seed), found.total)
    weights = _inverse_errors(found.total)
    ahead = found.values if larger_is_better else -found.values
    behind = (ahead[np.newaxis, :] - ahead[:, np.newaxis]) * weights
    p = np.full(len(ahead), np.nan)
    left = np.flatnonzero(~np.isnan(ahead))
    critical, least = None, 0.0
    while len(left):
        largest = _largest_differences(drawn[:, left], weights[np.ix_(left, left)])
        if critical is None:  # that of the first round, over all cells: what a reader may apply to any difference
            critical = float(np.quantile(largest, 1 - alpha))
        worst = behind[np.ix_(left, left)].max(axis=1)
        n_as_far = (largest[:, np.newaxis] >= worst - TOLERANCE).sum(axis=0)
        # With fewer cells left, chance explains less. A cell that outlasts others must not get a smaller p than theirs.
        p[left] = np.maximum(least, (1 + n_as_far) / (1 + n_resamples))
        falls = p[left] <= alpha
        if not falls.any():
            break
        least = p[left][falls].max()
        left = left[~falls]
    return BestCells(p, critical)


def _inverse_errors(total: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / the standard error of the difference of any two cells under sign changes, float64[n_cells, n_cells]; 0 for
    two cells to which every cluster contributes the same.
    """
    # The variance of a difference is taken from squares and products. They cancel, and less so around the cells' mean.
    relative = total - total.mean(axis=1, keepdims=True)
    products = relative.T @ relative
    squares = np.diagonal(products)
    variances = squares[:, np.newaxis] + squares[np.newaxis, :] - 2 * products
    differ = variances > TOLERANCE * (squares[:, np.newaxis] + squares[np.newaxis, :])
    weights: NDArray[np.float64] = np.zeros_like(variances)
    weights[differ] = variances[differ] ** -0.5
    return weights


def _largest_differences(drawn: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest difference between any two cells in each resample, float64[n_resamples], in standard errors."""
    largest = np.zeros(len(drawn))
    # Cell by cell, because an array of all pairs in all resamples would not fit into memory for large grids.
    for i in range(1, drawn.shape[1]):
        differences = np.abs(drawn[:, i : i + 1] - drawn[:, :i]) * weights[i, :i]
        np.maximum(largest, differences.max(axis=1), out=largest)
    return largest
