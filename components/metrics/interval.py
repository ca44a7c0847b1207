"""Confidence intervals of metrics in many subsets of the samples, by the method that fits the data of a subset."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.clusters import Groups
from components.errors import ComponentError
from components.fields import added_later
from components.metrics.cluster_sums import ResultGroups, Rows, Values, round_for_exact_sums, sum_by_cluster
from components.metrics.draws import Draws, get_draws
from components.metrics.quantiles import quantiles
from components.metrics.share_bounds import compute_bounds, unseen_variance, wilson_bounds
from components.metrics.spread import Combine, Spread, compute_spread
from components.records import Interval, IntervalMethod

MIN_CLUSTERS = 5
"""With fewer clusters, the interval itself would be too uncertain to report."""

_SUMS_AT_ONCE = 2_000_000

_ROUNDING = 1e-9
"""Share of the sum of squares. A smaller variance is a rounding error."""


class Column(NamedTuple):
    """A metric over the samples: its statistics, float64[n_samples, d], and the function that combines their sums.

    Rows of excluded samples are zeros. `is_share` means that all values are in [0, 1].
    """

    statistics: Values
    combine: Combine
    is_share: bool = True


class _MetricColumns(NamedTuple):
    """The columns of one metric in the table.

    `statistics` are its columns. The column `sizes` counts the scored samples, and `fractions` those among them with a
    value other than 0 and 1.
    """

    statistics: slice
    sizes: int
    fractions: int
    combine: Combine
    is_mean: bool
    is_share: bool


@dataclass(frozen=True)
class Intervals:
    """Confidence intervals with coverage `confidence`, for samples in clusters that depend on each other.

    - wilson: for a mean of zeros and ones. Wilson's interval with the effective number of samples;
    - bootstrap: for a mean of values that are not shares. The studentized bootstrap over clusters, including samples
      that do not count. It follows skewed values and is never narrower than Student's t;
    - t: for everything else. Student's t with the jackknife error. For shares, the error shrinks towards 0 and 1 as it
      does for zeros and ones (`score_bounds`). This keeps intervals in [0, 1] and covers skewed shares better than
      percentiles do. Extra variance covers values that agreeing clusters have not shown (`unseen_variance`).

    A large cluster has less precision than the same samples in small clusters, so degrees of freedom count clusters of
    equal size (Kish's effective number). Fewer than 5 clusters give no interval. `python -m benchmarks coverage`
    simulates the coverage.

    `groups` is the rule that puts samples of a data set into clusters. With `by_turn`, turns of conversations form
    subsets by their number, and there is a mean over conversations. `confidence` is in (0, 1).

    The draws depend only on `seed` and the number of clusters, and sums are exact. Equal statistics therefore give
    equal bytes with any other columns and any number of threads. The time of the bootstrap grows with n_resamples *
    n_clusters.
    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", 12.5; the sources of `compute_spread`
    and `wilson_bounds`.
    """

    n_resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0
    by_turn: bool = added_later(False)
    groups: Groups = added_later(Groups.DOCUMENT)

    version: ClassVar[int] = 5

    def check(self) -> list[str]:
        """Return an error message for too few resamples for a percentile, a confidence outside (0, 1), or a negative
        seed.
        """
        problems = []
        if self.n_resamples < 100:
            problems.append(f"n_resamples: got {self.n_resamples}, expected at least 100")
        if not 0 < self.confidence < 1:
            problems.append(f"confidence: got {self.confidence}, expected a number in (0, 1)")
        if self.seed < 0:
            problems.append(f"seed: got {self.seed}, expected at least 0")
        return problems

    def subset_intervals(
        self, columns: Sequence[Column], subsets: Sequence[Rows], clusters: NDArray[np.int64] | None = None
    ) -> list[list[Interval]]:
        """Return for each subset of the samples one Interval per column.

        `clusters` int64[n_samples] are ids of groups of dependent samples (`components.clusters`); without them, all
        samples are independent. Without scored samples, value, low and high are None. Raises ComponentError if the
        columns or the clusters differ in their number of samples.
        """
        by_column = self._intervals_by_column(columns, subsets, clusters, joined=False)
        return [list(row) for row in zip(*by_column, strict=True)] if columns else [[] for _ in subsets]

    def mean_intervals(
        self, columns: Sequence[Column], subsets: Sequence[Rows], clusters: NDArray[np.int64] | None = None
    ) -> list[Interval]:
        """Return one Interval per column for the mean over the subsets. Each subset with a value has equal weight.

        A subset with a single cluster leaves the mean without low and high.
        """
        return [interval for (interval,) in self._intervals_by_column(columns, subsets, clusters, joined=True)]

    def _intervals_by_column(
        self,
        columns: Sequence[Column],
        subsets: Sequence[Rows],
        clusters: NDArray[np.int64] | None,
        *,
        joined: bool,
    ) -> list[list[Interval]]:
        _require_equal_lengths(columns, clusters)
        if not columns:
            return []
        stacked, placed = _stack(columns)
        results = ResultGroups(sum_by_cluster(stacked, subsets, clusters), joined=joined)
        return [self._intervals(results, column) for column in placed]

    def _intervals(self, results: ResultGroups, column: _MetricColumns) -> list[Interval]:
        """Return one Interval per result."""
        from scipy.special import stdtrit

        rows = results.table.sums
        sums, sizes = rows[:, column.statistics], rows[:, column.sizes]
        estimate = compute_spread(results, sums, sizes, column.combine)
        quantile = stdtrit(estimate.degrees, (1 + self.confidence) / 2)
        variance = estimate.variance + unseen_variance(estimate) if column.is_share else estimate.variance
        low, high = compute_bounds(estimate.value, quantile * np.sqrt(variance), is_share=column.is_share)
        is_zero_one = results.n_clusters(rows[:, column.fractions] > 0) == 0
        if is_zero_one.any():
            bounds = wilson_bounds(results, estimate, sums[:, 0], sizes, quantile)
            low, high = (np.where(is_zero_one, bound, other) for bound, other in zip(bounds, (low, high), strict=True))
        is_unbounded = column.is_mean and not column.is_share and not results.are_joined
        uses_bootstrap = (estimate.n_clusters >= MIN_CLUSTERS) & (estimate.variance > 0) & is_unbounded
        if uses_bootstrap.any():
            below, above = self._distances(results, column, np.flatnonzero(uses_bootstrap))
            value, error = estimate.value[uses_bootstrap], np.sqrt(estimate.variance[uses_bootstrap])
            low[uses_bootstrap] = np.fmin(low[uses_bootstrap], value - above * error)
            high[uses_bootstrap] = np.fmax(high[uses_bootstrap], value - below * error)
        methods = [
            IntervalMethod.WILSON if zero_one else IntervalMethod.BOOTSTRAP if bootstrap else IntervalMethod.T
            for zero_one, bootstrap in zip(is_zero_one.tolist(), uses_bootstrap.tolist(), strict=True)
        ]
        return _as_records(estimate, low, high, methods)

    def _distances(
        self, results: ResultGroups, column: _MetricColumns, subsets: NDArray[np.int64]
    ) -> tuple[Values, Values]:
        """Return the bounds of the studentized bootstrap for some subsets: the quantiles below and above.

        The distances are from the subset's mean to the mean of redrawn clusters, in standard errors of the draw.
        Subsets with equal numbers of clusters share the draws and are computed together.
        """
        tail = (1 - self.confidence) / 2
        below, above = np.empty(len(subsets)), np.empty(len(subsets))
        for positions in self._group_by_length(results.table.n[subsets]):
            rows = np.stack([results.table.rows_of(subsets[position])[:, column.statistics] for position in positions])
            distances = _studentize(rows, get_draws(rows.shape[1], self.n_resamples, (self.seed,)))
            below[positions], above[positions] = quantiles(distances, (tail, 1 - tail)).T
        return below, above

    def _group_by_length(self, lengths: NDArray[np.int64]) -> Iterator[list[int]]:
        """Yield the indices of subsets of equal length, as many together as fit into bounded memory."""
        at_once = max(1, _SUMS_AT_ONCE // (10 * self.n_resamples))
        for length in np.unique(lengths).tolist():
            places = np.flatnonzero(lengths == length).tolist()
            for first in range(0, len(places), at_once):
                yield places[first : first + at_once]


def _studentize(rows: Values, draws: Draws) -> Values:
    """Return the mean in every resample minus the overall mean, in standard errors of the resample: float64[n_subsets,
    n_resamples].

    `rows` float64[n_subsets, n_rows, 2] are sums and numbers of samples by cluster. A resample without spread is NaN.
    """
    sums, sizes = rows[:, :, 0], rows[:, :, 1]
    mean = sums.sum(axis=1, keepdims=True) / sizes.sum(axis=1, keepdims=True)
    residuals = sums - mean * sizes  # about 0, so that squares do not cancel
    products = np.stack([residuals, sizes, residuals**2, residuals * sizes, sizes**2], axis=1)
    n_subsets, width, n_rows = products.shape
    exact = round_for_exact_sums(products.reshape(n_subsets * width, n_rows))
    resampled = draws.sums(exact).reshape(n_subsets, width, -1)
    residual, size, squares, both, squared_sizes = resampled.transpose(1, 0, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = residual / size
        variance = (squares - 2 * away * both + away**2 * squared_sizes) / size**2
        variance[variance <= _ROUNDING * squares / size**2] = np.nan
        return away / np.sqrt(variance)


def _stack(columns: Sequence[Column]) -> tuple[Values, list[_MetricColumns]]:
    """Return all columns side by side, followed by the counts of each column."""
    width = sum(column.statistics.shape[1] for column in columns)
    counted: list[NDArray[np.bool_]] = []
    placed = []
    first = 0
    for column in columns:
        counts: NDArray[np.bool_] = np.asarray(column.statistics.any(axis=1))
        is_share = column.is_share and _is_in_unit_interval(column.statistics)
        is_fraction = counts & ~_is_zero_or_one(column.statistics) if is_share else counts
        span = slice(first, first := first + column.statistics.shape[1])
        placed.append(
            _MetricColumns(
                span,
                width + len(counted),
                width + len(counted) + 1,
                column.combine,
                _is_mean(column.statistics),
                is_share,
            )
        )
        counted += [counts, is_fraction]
    return np.column_stack([*(column.statistics for column in columns), *counted]), placed


def _is_mean(statistics: Values) -> bool:
    """Return True if the statistics are a value and a 1 for every sample that counts, unlike a metric of a corpus."""
    return statistics.shape[1] == 2 and bool(np.isin(statistics[:, 1], (0.0, 1.0)).all())


def _is_in_unit_interval(statistics: Values) -> bool:
    """Return False for a mean with a value outside [0, 1]: a metric that does not declare that it is not a share."""
    if not _is_mean(statistics):
        return True
    return bool(((statistics[:, 0] >= 0) & (statistics[:, 0] <= statistics[:, 1])).all())


def _is_zero_or_one(statistics: Values) -> NDArray[np.bool_]:
    """Return True for each sample that adds a 0 or a 1 to a mean."""
    is_zero_or_one: NDArray[np.bool_] = np.isin(statistics[:, 0], (0.0, 1.0)) & _is_mean(statistics)
    return is_zero_or_one


def _as_records(estimate: Spread, low: Values, high: Values, methods: Sequence[IntervalMethod]) -> list[Interval]:
    enough = (estimate.n_clusters >= MIN_CLUSTERS) & np.isfinite(low) & np.isfinite(high)
    n_clusters = estimate.n_clusters.astype(np.int64).tolist()
    n_effective = np.where(estimate.n_clusters > 0, estimate.n_effective, 0.0).tolist()
    records = []
    for row, (value, variance) in enumerate(zip(estimate.value.tolist(), estimate.variance.tolist(), strict=True)):
        records.append(
            Interval(
                None if np.isnan(value) else value,
                low=float(low[row]) if enough[row] else None,
                high=float(high[row]) if enough[row] else None,
                n_clusters=n_clusters[row],
                method=methods[row] if enough[row] else None,
                error=float(np.sqrt(variance)) if np.isfinite(variance) and n_clusters[row] > 1 else None,
                n_effective=n_effective[row],
            )
        )
    return records


def _require_equal_lengths(columns: Sequence[Column], clusters: NDArray[np.int64] | None) -> None:
    lengths = {len(column.statistics) for column in columns}
    if clusters is not None:
        lengths.add(len(clusters))
    if len(lengths) > 1:
        raise ComponentError(
            f"intervals: got columns (or clusters) of {sorted(lengths)} samples, expected the same samples"
        )
