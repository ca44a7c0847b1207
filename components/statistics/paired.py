"""Paired comparison of cells on the same samples: difference, interval and p-value."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.contributions import Contributions, SampleScores, contributions
from components.statistics.power import critical_value
from components.statistics.resampling import TOLERANCE, draw_counts, draw_signs

MIN_CLUSTERS = 5
"""With fewer clusters, there is no interval: the variance between clusters cannot be estimated."""


@dataclass(frozen=True)
class Comparison:
    """A cell against a baseline, over `n` samples in `n_clusters` clusters, worth `n_effective` of equal size.

    `difference` is the cell's metric minus the baseline's, with the interval [`low`, `high`]. `standard_error` is
    robust to clusters, with `df` degrees of freedom. It is None if a stratum has a single cluster, which says nothing
    about other clusters. `critical` is the size, in standard errors, that the difference must exceed for its p-value to
    reach the level of the test. Without samples, all of these and `p` are None.
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
    n_effective: float = 0.0


@dataclass(frozen=True)
class PairedTest:
    """Comparison of cells on the same samples. Equal input gives equal p-values, because all draws follow from `seed`.

    The two-sided p-value is the larger of two: how often sign changes and how often a studentized bootstrap give a
    difference at least as large (see `chance` for their conditions). Both count the data as one of the resamples, so p
    is never below 1 / (n_resamples + 1). Few differing clusters bound p from below as well (`chance.floors`). If a
    stratum has a single cluster, standard errors are unknown, and sign changes alone decide. The p-value of wins and
    losses (`Contributions.are_wins_or_losses`) is that of McNemar's exact test.

    The interval is the difference plus and minus the size that chance exceeds with probability 1 - `confidence`, in
    standard errors, by the same resamples. It is at least as wide as Student's interval, and contains 0 if no p-value
    could exclude 0. Wins and losses have an interval of their own, which contains 0 if p is above 1 - `confidence`.
    Fewer than `MIN_CLUSTERS` clusters give no interval.
    Source: Phipson & Smyth 2010, "Permutation P-values Should Never Be Zero"; the sources of `chance`.
    """

    confidence: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0

    def compare(self, scores: SampleScores, level: float) -> list[Comparison]:
        """Return one Comparison of every other cell with the first, with `critical` for p-values of `level`."""
        n_others = scores.statistics.shape[1] - 1
        if not scores.n_samples:
            return [Comparison(0, 0)] * n_others
        differences = contributions(scores).subtract_cell(0, range(1, n_others + 1))
        swapped = chance.resample_signs(differences, self._swaps(differences))
        p, floors = _p(chance.observed_sizes(differences), swapped), chance.floors(differences)
        errors = chance.standard_errors(differences)
        # Over several strata the two kinds of standard errors differ.
        as_one = np.divide(
            chance.errors_as_one_stratum(differences), errors, where=errors > 0.0, out=np.ones(len(errors))
        )
        by_chance = [swapped * as_one]
        if chance.can_be_skewed(differences):
            draws = list(draw_counts(differences.n_clusters, self.n_resamples, self.seed))
            redrawn = chance.resample_clusters(differences, draws)
            skewed = np.maximum(_p(chance.distances(differences), redrawn), floors)
            if np.isfinite(differences.reach):
                redrawn = chance.resample_clusters(differences, draws, chance.MIN_SPREAD)
                bounded = _p(chance.distances(differences), redrawn)
                skewed = np.minimum(skewed, np.maximum(bounded, chance.range_floors(differences, differences.reach)))
            p = np.maximum(p, skewed)
            by_chance.append(redrawn)
        elif differences.are_wins_or_losses:
            p = _exact_p(differences)
        else:
            p = np.maximum(p, floors)
        with np.errstate(invalid="ignore"):  # a difference that is equal everywhere is exact
            widths = np.where(errors == 0.0, 0.0, errors * _critical(by_chance, 1 - self.confidence, differences))
        low, high = differences.values - widths, differences.values + widths
        if differences.are_wins_or_losses:
            low, high = _adjusted_intervals(differences, critical_value(max(1, differences.df), 1 - self.confidence))
        # An interval holds 0 where no p-value could exclude it.
        holds_zero = (p if differences.are_wins_or_losses else floors) > 1 - self.confidence
        low, high = np.where(holds_zero, np.minimum(low, 0.0), low), np.where(holds_zero, np.maximum(high, 0.0), high)
        # Gains and losses that cancel out in every group show no spread, and no certainty either.
        differs = (scores.statistics[:, 1:] != scores.statistics[:, :1]).any(axis=(0, 2))
        cancels = differs & (errors == 0.0) & (differences.values == 0.0)
        low, high = np.where(cancels, np.nan, low), np.where(cancels, np.nan, high)
        needed = np.where(floors > level, np.inf, _critical(by_chance, level, differences))
        return [
            _comparison(differences, scores.n_samples, i, float(p[i]), float(errors[i]), (low[i], high[i]), needed[i])
            for i in range(n_others)
        ]

    def _swaps(self, differences: Contributions) -> Iterator[NDArray[np.float64]]:
        return draw_signs(differences.n_clusters, self.n_resamples, self.seed)

    def smallest_p(self, n_clusters: int, n_effective: float, *, is_right_or_wrong: bool = False) -> float:
        """Return the smallest p-value of cells that differ in all clusters, however large the difference
        (`chance.floors`).

        The clusters are worth `n_effective` of equal size. `is_right_or_wrong` means that all scores are 0 or 1.
        """
        # Of the 2^n ways to swap n clusters, two are as extreme as the data: none swapped, and all of them.
        swaps_floor = max(2.0 ** (1 - n_clusters), 1 / (1 + self.n_resamples))
        return max(swaps_floor, chance.smallest_floor(n_effective, is_right_or_wrong=is_right_or_wrong))


def _p(sizes: NDArray[np.float64], by_chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of draws that are at least as far from zero. The data count as one of the draws."""
    p: NDArray[np.float64] = (1 + (by_chance >= sizes * (1 - TOLERANCE)).sum(axis=0)) / (1 + len(by_chance))
    return p


def _exact_p(differences: Contributions) -> NDArray[np.float64]:
    """Return the p-values of McNemar's exact test, float64[n]; 1 without wins and losses.

    The test counts all sign changes; `resample_signs` draws some of these.
    """
    from scipy.special import bdtr

    wins, losses = (differences.total > 0.0).sum(axis=0), (differences.total < 0.0).sum(axis=0)
    p: NDArray[np.float64] = np.minimum(1.0, 2 * bdtr(np.minimum(wins, losses), wins + losses, 0.5))
    return p


def _critical(by_chance: list[NDArray[np.float64]], level: float, differences: Contributions) -> NDArray[np.float64]:
    """Return the size that chance exceeds with probability `level`, in standard errors, float64[n]."""
    if differences.df < 1:
        return np.full(len(differences.values), np.nan)
    quantiles = [np.quantile(draws, 1 - level, axis=0, method="higher") for draws in by_chance]
    largest: NDArray[np.float64] = np.max(
        [*quantiles, np.full(len(differences.values), critical_value(differences.df, level))], axis=0
    )
    return largest * (1 + TOLERANCE)  # a difference equal to a draw does not exceed it, as in `_p`


def _adjusted_intervals(differences: Contributions, critical: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends, float64[n] each, of intervals for differences in wins and losses, from -1 to 1.

    One win and one loss are added to the data. Without them, an interval would be too narrow if nearly all samples are
    wins, and would have no width if all are. Cells that differ nowhere keep an interval without width.
    Source: Bonett & Price 2012, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on
    Paired Data", Journal of Educational and Behavioral Statistics 37(4). We use Student's t, which is a little wider
    than the normal distribution of the source.
    """
    wins, losses = (differences.total > 0.0).sum(axis=0), (differences.total < 0.0).sum(axis=0)
    n = differences.n_clusters + 2
    centre, disagreement = (wins - losses) / n, (wins + losses + 2) / n
    widths = np.where(wins + losses > 0, critical * np.sqrt((disagreement - centre**2) / n), 0.0)
    return np.maximum(-1.0, centre - widths), np.minimum(1.0, centre + widths)


def _comparison(
    differences: Contributions,
    n: int,
    i: int,
    p: float,
    error: float,
    interval: tuple[np.float64, np.float64],
    critical: np.float64,
) -> Comparison:
    difference, n_effective = float(differences.values[i]), differences.n_effective
    if not differences.has_spread:
        return Comparison(n, differences.n_clusters, difference, p=p, n_effective=n_effective)
    low, high = map(float, interval)
    has_interval = differences.n_clusters >= MIN_CLUSTERS and np.isfinite(high - low)
    return Comparison(
        n,
        differences.n_clusters,
        difference,
        low if has_interval else None,
        high if has_interval else None,
        p,
        error,
        differences.df,
        float(critical),
        n_effective,
    )
