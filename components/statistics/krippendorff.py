"""Krippendorff's alpha: agreement beyond chance of any number of raters, with missing values."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from components.statistics.resampling import TOLERANCE, draw_counts

MIN_CLUSTERS = 5
"""With fewer clusters, an interval would itself be too uncertain to report."""

_BLOCK_ELEMENTS = 2_000_000

Floats = NDArray[np.float64]


class MeasurementLevel(StrEnum):
    """The distance between two values: whether they differ, the ranks between them, or their numeric distance."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha with its interval: 1 for perfect agreement, 0 for chance, negative below chance.

    `value` is None if alpha is undefined: no unit has two ratings, or all values are equal. `low` and `high` are None
    then, and for fewer than 5 clusters. They are also None if redrawing shows no spread because all raters agree, which
    does not show how certain the value is.

    `n_units` counts the compared units, which have two or more values, and `n_values` counts their values.
    """

    value: float | None
    low: float | None
    high: float | None
    n_units: int
    n_values: int


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]],
    level: MeasurementLevel,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    n_draws: int = 2000,
    seed: int = 0,
) -> Alpha:
    """Return alpha over units. Each unit lists the values of its raters in any order, None for a missing value.

    Units with fewer than two values are left out. Ordinal and interval values are numbers. `clusters` holds the cluster
    of each unit; None makes every unit a cluster. The interval holds percentiles of alpha over clusters drawn with
    replacement (Efron 1979). Raises ValueError if a number is required but a value is not finite, or unless there is
    one cluster per unit.

    Formula: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", with his differences of nominal, ordinal
    and interval data.
    """
    if clusters is not None and len(clusters) != len(units):
        raise ValueError(f"clusters: got {len(clusters)} for {len(units)} units, expected one per unit")
    known_values = [[value for value in unit if value is not None] for unit in units]
    rows = [row for row, values in enumerate(known_values) if len(values) > 1]
    compared = [known_values[row] for row in rows]
    n_values = sum(map(len, compared))
    table = _Table(compared, level)
    value = float(table.alphas(np.ones((1, len(rows))))[0]) if rows else np.nan
    if np.isnan(value):
        return Alpha(None, None, None, len(rows), n_values)
    low, high = _interval(
        table, [row if clusters is None else clusters[row] for row in rows], confidence, n_draws, seed
    )
    return Alpha(value, low, high, len(rows), n_values)


def _interval(
    table: "_Table", clusters: Sequence[Hashable], confidence: float, n_draws: int, seed: int
) -> tuple[float | None, float | None]:
    number: dict[Hashable, int] = {}
    columns = np.array([number.setdefault(cluster, len(number)) for cluster in clusters])
    if len(number) < MIN_CLUSTERS:
        return None, None
    n_at_once = max(1, _BLOCK_ELEMENTS // len(columns))
    alphas = np.concatenate(
        [
            table.alphas(block[first : first + n_at_once, columns])
            for block in draw_counts(len(number), n_draws, seed)
            for first in range(0, len(block), n_at_once)
        ]
    )
    low, high = np.nanquantile(alphas, [(1 - confidence) / 2, (1 + confidence) / 2])
    return (float(low), float(high)) if high - low > TOLERANCE else (None, None)


class _Table:
    """Number of times that each value was given to each unit, float64[n_units, n_distinct_values]."""

    def __init__(self, units: Sequence[Sequence[Hashable]], level: MeasurementLevel) -> None:
        self._level = level
        distinct = dict.fromkeys(value for unit in units for value in unit)
        self._scale = np.arange(len(distinct), dtype=np.float64)
        if level is not MeasurementLevel.NOMINAL:
            numbers = sorted({_number(value) for value in distinct})
            self._scale = _centre(numbers)
            columns = {value: numbers.index(_number(value)) for value in distinct}
        else:
            columns = {value: column for column, value in enumerate(distinct)}
        self._counts = np.zeros((len(units), len(self._scale)))
        for row, unit in enumerate(units):
            for value in unit:
                self._counts[row, columns[value]] += 1

    def alphas(self, weights: Floats) -> Floats:
        """Return alpha for each row of float64[n_draws, n_units], which counts each unit; NaN where alpha is undefined.

        Observed and expected differences are sums over pairs of values. For n values x_i, squared distances add up to 2
        (n sum x_i^2 - (sum x_i)^2). Ordinal distances are between mid-ranks, which differ between draws.
        """
        margins = weights @ self._counts
        n = margins.sum(axis=1)
        sizes = self._counts.sum(axis=1)
        if self._level is MeasurementLevel.NOMINAL:
            within = sizes**2 - (self._counts**2).sum(axis=1)
            observed = weights @ (within / (sizes - 1))
            expected = n**2 - (margins**2).sum(axis=1)
        else:
            scale = self._positions(margins)
            spread = sizes * (scale**2 @ self._counts.T) - (scale @ self._counts.T) ** 2
            observed = (weights * spread / (sizes - 1)).sum(axis=1)
            expected = n * (margins * scale**2).sum(axis=1) - (margins * scale).sum(axis=1) ** 2
        has_spread = expected > TOLERANCE * n
        alphas: Floats = np.where(has_spread, 1 - (n - 1) * observed / np.where(has_spread, expected, 1.0), np.nan)
        return alphas

    def _positions(self, margins: Floats) -> Floats:
        """Return the positions of the values on their scale, float64[n_draws, n_values], or one row for all draws."""
        if self._level is MeasurementLevel.INTERVAL:
            return self._scale[np.newaxis]
        middles: Floats = np.cumsum(margins, axis=1) - margins / 2 - margins.sum(axis=1, keepdims=True) / 2
        return middles


def _centre(numbers: Sequence[float]) -> Floats:
    """Centre numbers on their mean, in units of their range. Alpha stays the same, and squares lose no digits."""
    scale = np.array(numbers, dtype=np.float64)
    return (scale - scale.mean()) / (np.ptp(scale) or 1.0) if numbers else scale


def _number(value: Hashable) -> float:
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"units: got the value {value!r}; ordinal and interval differences expect finite numbers")
    return float(value)
