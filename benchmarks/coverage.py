"""Coverage of confidence intervals: simulated samples in clusters that depend on each other, with known truth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.means import combine_mean
from components.metrics.bleu import Bleu
from components.metrics.interval import Column, Intervals

Values = NDArray[np.float64]

MIN_COVERAGE = 0.92
"""Minimum coverage of nominal .95 intervals, from 5 clusters up."""

MIN_COVERAGE_OF_EXTREME_SKEW = 0.90
"""Minimum coverage if the logarithm of values has a standard deviation of 1: few samples do not show such a tail."""

MIN_COVERAGE_OF_RARE_ZEROS = 0.82
"""Minimum coverage if one value in a hundred is 0 and nearly all others are 1: a third of 100 samples have no 0."""

_N_CLUSTERS = (5, 7, 10, 20, 29, 30, 60, 100)
_CORRELATIONS = (0.0, 0.2, 0.6)
_N_DATA_SETS = 4000


@dataclass(frozen=True)
class Kind:
    """A metric to simulate.

    `statistics` converts standard normal deviates [n] to float64[n, d], and `combine` joins their sums. `truth` is the
    metric for infinitely many samples. `is_share` is true for values in [0, 1]. `fewest` is the share of intervals that
    must contain the truth.
    """

    name: str
    statistics: Callable[[Values, np.random.Generator], Values]
    combine: Callable[[Values], Values]
    truth: Callable[[], float]
    is_share: bool = True
    fewest: float = MIN_COVERAGE


def _mean(values: Values) -> Values:
    return np.column_stack([values, np.ones(len(values))])


def _zero_one(share: float) -> Kind:
    def draw(normal: Values, _: np.random.Generator) -> Values:
        return _mean((ndtr(normal) < share).astype(np.float64))

    return Kind(f"0/1, p = {share}", draw, combine_mean, lambda: share)


def _beta(name: str, a: float, b: float) -> Kind:
    return Kind(name, lambda normal, _: _mean(betaincinv(a, b, ndtr(normal))), combine_mean, lambda: a / (a + b))


def _log_normal(sigma: float, fewest: float) -> Kind:
    """Return values without an upper bound, like tokens of a context or seconds of an answer."""

    def draw(normal: Values, _: np.random.Generator) -> Values:
        return _mean(np.exp(sigma * normal))

    truth = float(np.exp(sigma**2 / 2))
    return Kind(f"log-normal, sigma {sigma}", draw, combine_mean, lambda: truth, is_share=False, fewest=fewest)


def _bleu(normal: Values, random: np.random.Generator) -> Values:
    """Return answers of 8 to 60 tokens. The share of matching tokens varies between samples."""
    share = 1 / (1 + np.exp(-0.8 * normal))
    length = random.integers(8, 61, len(normal))
    reference = np.maximum(4, length * random.uniform(0.8, 1.3, len(normal)) // 1)
    totals = [np.maximum(length - order, 0) for order in range(4)]
    matched = [random.binomial(total, share ** (order + 1)) for order, total in enumerate(totals)]
    return np.column_stack([length, reference, *matched, *totals]).astype(np.float64)


def _discrete(name: str, values: Sequence[float], shares: Sequence[float], fewest: float = MIN_COVERAGE) -> Kind:
    """Return a metric with a few values, each in a share of the samples."""

    def draw(normal: Values, _: np.random.Generator) -> Values:
        place = np.searchsorted(np.cumsum(shares)[:-1], ndtr(normal))
        return _mean(np.asarray(values)[place])

    return Kind(name, draw, combine_mean, lambda: float(np.dot(values, shares)), fewest=fewest)


@cache
def _bleu_of_many() -> float:
    random = np.random.default_rng(0)
    return float(Bleu().combine("bleu", _bleu(random.normal(size=500_000), random).sum(axis=0)))


ROUGE = _beta("rouge-like", 1.2, 2.5)
BLEU = Kind("BLEU", _bleu, lambda sums: Bleu().combine("bleu", sums), _bleu_of_many)
ZERO_ONE = tuple(_zero_one(share) for share in (0.5, 0.9, 0.98))
PRECISION = tuple(
    _discrete(f"precision@5-like, {rare} without a hit", (0.0, 0.2), (rare, 1 - rare)) for rare in (0.1, 0.02)
)
GRADE = _discrete("grades, .97 in the middle", (0.0, 0.5, 1.0), (0.02, 0.97, 0.01))
NDCG = _discrete("NDCG-like, .96 ones", (0.0, 0.5, 0.63, 1.0), (0.01, 0.01, 0.02, 0.96))
NEARLY_ONE = _discrete("nearly 1: .94 ones, else .84", (0.84, 1.0), (0.06, 0.94))
MRR = _discrete("MRR-like, .94 ones", (0.0, 1 / 3, 0.5, 1.0), (0.01, 0.02, 0.03, 0.94))
RARE_ZERO = _discrete("rarely 0: .01 zeros, .04 of .8", (0.0, 0.8, 1.0), (0.01, 0.04, 0.95), MIN_COVERAGE_OF_RARE_ZEROS)
MOSTLY_ALIKE = (*PRECISION, GRADE, NDCG, NEARLY_ONE, MRR)
LOG_NORMAL = (_log_normal(0.5, MIN_COVERAGE), _log_normal(1.0, MIN_COVERAGE_OF_EXTREME_SKEW))
KINDS = (ROUGE, *ZERO_ONE, *MOSTLY_ALIKE, RARE_ZERO, BLEU, *LOG_NORMAL)


def sizes(layout: str, n_clusters: int) -> NDArray[np.int64]:
    """Return the samples of every cluster: one each, four each, or from a dozen down to one."""
    unequal = np.maximum(1, np.round(12 * 0.85 ** np.arange(n_clusters)))
    known = {"single": np.ones(n_clusters), "four": np.full(n_clusters, 4), "unequal": unequal}
    return known[layout].astype(np.int64)


def coverage(
    kind: Kind, n_in_clusters: Sequence[int] | NDArray[np.int64], correlation: float, n_data_sets: int, seed: int = 0
) -> float:
    """Return the share of data sets whose interval contains the truth.

    `correlation` is the correlation of the normal deviates of samples in one cluster.
    """
    truth = kind.truth()
    found = _intervals(kind, n_in_clusters, correlation, n_data_sets, seed)
    return sum(low <= truth <= high for low, high in found) / n_data_sets


def interval_widths(
    kind: Kind, n_in_clusters: Sequence[int] | NDArray[np.int64], correlation: float, n_data_sets: int, seed: int = 0
) -> list[float]:
    """Return the widths of the intervals whose `coverage` is measured, one for each data set with an interval."""
    return [high - low for low, high in _intervals(kind, n_in_clusters, correlation, n_data_sets, seed)]


def _intervals(
    kind: Kind, n_in_clusters: Sequence[int] | NDArray[np.int64], correlation: float, n_data_sets: int, seed: int
) -> list[tuple[float, float]]:
    random = np.random.default_rng((seed, len(n_in_clusters), round(100 * correlation)))
    in_data_set = np.repeat(np.arange(len(n_in_clusters)), n_in_clusters)
    n = len(in_data_set)
    shape = (n_data_sets, len(n_in_clusters))
    shared = random.normal(size=shape)[:, in_data_set].ravel()
    normal = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * random.normal(size=n_data_sets * n)
    clusters = (len(n_in_clusters) * np.arange(n_data_sets)[:, np.newaxis] + in_data_set).ravel()
    subsets = [slice(first, first + n) for first in range(0, n_data_sets * n, n)]
    column = Column(kind.statistics(normal, random), kind.combine, kind.is_share)
    found = Intervals(n_resamples=1000).subset_intervals([column], subsets, clusters)
    return [(one.low, one.high) for (one,) in found if one.low is not None and one.high is not None]


def measure(settings: Settings) -> list[Measure]:
    """Return for each kind of metric the setting with the worst intervals."""
    return [_worst(kind) for kind in KINDS]


def _worst(kind: Kind) -> Measure:
    found = {
        f"{n_clusters} clusters ({layout}), correlation {correlation}": coverage(
            kind, sizes(layout, n_clusters), correlation, _N_DATA_SETS
        )
        for layout in ("single", "four", "unequal")
        for n_clusters in _N_CLUSTERS
        for correlation in (_CORRELATIONS if layout != "single" else (0.0,))
    }
    worst = min(found, key=lambda setting: found[setting])
    detail = f"at {worst}; the middle of {len(found)} settings {np.median(list(found.values())):.3f}"
    return Measure(
        f"{kind.name}: fewest intervals that hold the truth", found[worst], "", detail, Bound(kind.fewest, True)
    )
