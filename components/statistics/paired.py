"""The difference between cells on the same samples, its interval, and how often chance alone would produce it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.power import critical_value
from components.statistics.resampling import TOLERANCE, counts, swaps

FEWEST_CLUSTERS = 5
"""With fewer no interval is shown: there is no telling how clusters vary."""


@dataclass(frozen=True)
class Comparison:
    """A cell against a baseline, over `n` samples in `n_clusters` clusters.

    `difference` is the cell's metric minus the baseline's, [`low`, `high`] its interval; `standard_error` is robust to
    clusters (with `df` degrees of freedom), and None where a stratum has a single cluster, which says nothing about
    others. `critical` is what the
    difference must exceed, in standard errors, for its p-value to reach the level that the test was given. Without
    samples all of these and `p` are None.
    """

    n: int
    n_clusters: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    standard_error: float | None = None
    df: int = 0
    critical: float | None = None


@dataclass(frozen=True)
class PairedTest:
    """Compares cells on the same samples. Equal input gives equal p-values: all draws follow from `seed`.

    The two-sided p-value is the larger one of two: how often sign changes, and how often a studentised bootstrap, give
    a difference at least as large (see `chance` for when each of them is right). Both count the data themselves as one
    of the resamples, so that p is never below 1 / (n_resamples + 1). Few differing clusters bound p from below as well
    (`chance.floors`). Where a stratum has a single cluster there is no standard error, and sign changes decide alone.

    The interval is the difference plus and minus what chance exceeds with probability 1 - `confidence`, in standard
    errors, by the same resamples; at least that of Student's t. It holds 0 where no p-value could exclude it. There is
    none below `FEWEST_CLUSTERS`.
    Source: Phipson & Smyth 2010, "Permutation P-values Should Never Be Zero"; and that of `chance`.
    """

    confidence: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0

    def compare(self, scores: SampleScores, level: float) -> list[Comparison]:
        """One Comparison of every cell but the first with the first, `critical` for p-values of `level`."""
        n_others = scores.statistics.shape[1] - 1
        if not scores.n_samples:
            return [Comparison(0, 0)] * n_others
        found = contributions(scores).against(0, range(1, n_others + 1))
        swapped = chance.after_sign_changes(found, self._swaps(found))
        p = _p(chance.without_sign_changes(found), swapped)
        errors = chance.standard_errors(found)
        # Over several strata the two kinds of standard errors differ.
        as_one = np.divide(chance.errors_as_one_stratum(found), errors, where=errors > 0.0, out=np.ones(len(errors)))
        by_chance = [swapped * as_one]
        if chance.can_be_studentised(found):
            draws = list(counts(found.n_clusters, self.n_resamples, self.seed))
            redrawn = chance.after_redrawing(found, draws)
            p = np.maximum(p, _p(chance.distances(found), redrawn))
            by_chance.append(redrawn)
        floors = chance.floors(found)
        p = np.maximum(p, floors)
        with np.errstate(invalid="ignore"):  # a difference that is the same everywhere is known exactly
            widths = np.where(errors == 0.0, 0.0, errors * _critical(by_chance, 1 - self.confidence, found))
        # An interval holds 0 where no p-value could exclude it.
        widths = np.where(floors > 1 - self.confidence, np.maximum(widths, np.abs(found.values)), widths)
        needed = np.where(floors > level, np.inf, _critical(by_chance, level, found))
        return [
            _comparison(found, scores.n_samples, i, float(p[i]), float(errors[i]), float(widths[i]), float(needed[i]))
            for i in range(n_others)
        ]

    def _swaps(self, found: Contributions) -> Iterator[NDArray[np.float64]]:
        return swaps(found.n_clusters, self.n_resamples, self.seed)

    def smallest_p(self, n_clusters: int, *, is_right_or_wrong: bool = False) -> float:
        """The smallest p-value that this number of clusters allows, however large the difference (`chance.floors`).

        `is_right_or_wrong` says that all scores are 0 or 1.
        """
        # Of the 2^n ways to swap n clusters, two are as extreme as the data: none swapped, and all of them.
        of_swaps = max(2.0 ** (1 - n_clusters), 1 / (1 + self.n_resamples))
        return of_swaps if is_right_or_wrong else max(of_swaps, chance.floor_of_graded(n_clusters))


def _p(sizes: NDArray[np.float64], drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the draws, with the data as one of them, that are at least as far from zero."""
    p: NDArray[np.float64] = (1 + (drawn >= sizes * (1 - TOLERANCE)).sum(axis=0)) / (1 + len(drawn))
    return p


def _critical(by_chance: list[NDArray[np.float64]], level: float, found: Contributions) -> NDArray[np.float64]:
    """What chance exceeds with probability `level`, in standard errors, float64[n]."""
    if found.df < 1:
        return np.full(len(found.values), np.nan)
    quantiles = [np.quantile(drawn, 1 - level, axis=0, method="higher") for drawn in by_chance]
    largest: NDArray[np.float64] = np.max(
        [*quantiles, np.full(len(found.values), critical_value(found.df, level))], axis=0
    )
    return largest * (1 + TOLERANCE)  # a difference that chance reaches exactly does not exceed it, as in `_p`


def _comparison(
    found: Contributions, n: int, i: int, p: float, error: float, width: float, critical: float
) -> Comparison:
    difference = float(found.values[i])
    if not found.has_spread:
        return Comparison(n, found.n_clusters, difference, p=p)
    is_enough = found.n_clusters >= FEWEST_CLUSTERS and np.isfinite(width)
    low, high = (difference - width, difference + width) if is_enough else (None, None)
    return Comparison(n, found.n_clusters, difference, low, high, p, error, found.df, critical)
