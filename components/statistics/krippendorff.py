"""Krippendorff's alpha: how far raters agree beyond chance, whatever their number, with values missing."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from components.statistics.resampling import TOLERANCE, counts

FEWEST_CLUSTERS = 5
"""Below, an interval would be too uncertain itself to be shown."""

_BLOCK_ELEMENTS = 2_000_000

Floats = NDArray[np.float64]


class MeasurementLevel(StrEnum):
    """What a difference of two values means: that they differ, how many ranks lie between them, or how far apart they
    are.
    """

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True)
class Alpha:
    """1 for perfect agreement, 0 for what chance would bring, negative below that. `value` is None where it is not
    defined: nothing was rated twice, or all values are the same. `low` and `high` are None there, for fewer than
    5 clusters, and where redrawing shows no spread (all agree), which says nothing of how sure the value is.

    `n_units` and `n_values` count what was compared: units with two values or more, and their values.
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
    """Alpha over units, each with the values that raters gave it, in any order; None for a rater who gave none. Units
    with fewer than two values compare nothing and are left out. Ordinal and interval values are numbers.

    Formula: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", with his differences of nominal, ordinal
    and interval data. The interval holds percentiles of alpha over clusters drawn with replacement (Efron 1979);
    `clusters` says of each unit which cluster it is in, None that each is its own. Raises ValueError for values
    that are no finite numbers where numbers are wanted, and unless there is one cluster per unit.
    """
    if clusters is not None and len(clusters) != len(units):
        raise ValueError(f"{len(clusters)} clusters came for {len(units)} units; expected one each")
    given = [[value for value in unit if value is not None] for unit in units]
    rows = [row for row, values in enumerate(given) if len(values) > 1]
    compared = [given[row] for row in rows]
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
    places = np.array([number.setdefault(cluster, len(number)) for cluster in clusters])
    if len(number) < FEWEST_CLUSTERS:
        return None, None
    n_at_once = max(1, _BLOCK_ELEMENTS // len(places))
    drawn = np.concatenate(
        [
            table.alphas(block[first : first + n_at_once, places])
            for block in counts(len(number), n_draws, seed)
            for first in range(0, len(block), n_at_once)
        ]
    )
    low, high = np.nanquantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return (float(low), float(high)) if high - low > TOLERANCE else (None, None)


class _Table:
    """How often each value was given to each unit, float64[n_units, n_distinct_values]."""

    def __init__(self, units: Sequence[Sequence[Hashable]], level: MeasurementLevel) -> None:
        self._level = level
        distinct = dict.fromkeys(value for unit in units for value in unit)
        self._scale = np.arange(len(distinct), dtype=np.float64)
        if level is not MeasurementLevel.NOMINAL:
            numbers = sorted({_number(value) for value in distinct})
            self._scale = _centred(numbers)
            place = {value: numbers.index(_number(value)) for value in distinct}
        else:
            place = {value: column for column, value in enumerate(distinct)}
        self._counts = np.zeros((len(units), len(self._scale)))
        for row, unit in enumerate(units):
            for value in unit:
                self._counts[row, place[value]] += 1

    def alphas(self, weights: Floats) -> Floats:
        """Alpha for each row of float64[n_draws, n_units], which says how often each unit counts; NaN where it is not
        defined.

        Observed and expected differences are sums over pairs of values. That of squared distances of n values x_i is
        2 (n sum x_i^2 - (sum x_i)^2); ordinal distances are those of mid-ranks, which each draw has of its own.
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
        """Of the values on the scale of their distances, float64[n_draws, n_values], or one row for all draws."""
        if self._level is MeasurementLevel.INTERVAL:
            return self._scale[np.newaxis]
        middles: Floats = np.cumsum(margins, axis=1) - margins / 2 - margins.sum(axis=1, keepdims=True) / 2
        return middles


def _centred(numbers: Sequence[float]) -> Floats:
    """About their mean, in units of their range: alpha stays the same, and squares lose no digits."""
    scale = np.array(numbers, dtype=np.float64)
    return (scale - scale.mean()) / (np.ptp(scale) or 1.0) if numbers else scale


def _number(value: Hashable) -> float:
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(
            f"the value {value!r} came; expected a finite number, as ordinal and interval differences need"
        )
    return float(value)
