"""Share of the variance between the cells of a grid that each axis explains."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from components.statistics.noise import SamplingErrors

Columns = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """A share of the variance between the cells. `raw` is eta squared, the sum of squares over the total, in [0, 1].

    `corrected` subtracts the effect of sampling errors from both sums, and [`low`, `high`] is its interval. All three
    are None if the errors are not known well enough, or if they alone explain the differences between the cells.
    Corrected values below 0 count as 0, so corrected shares may add up to more than 1.
    """

    raw: float
    corrected: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Term:
    """An axis (`axes` has one name) or the interaction of two axes.

    `df` are its degrees of freedom. `n_aliased` are the degrees of freedom that it loses because other terms vary along
    with it.
    """

    axes: tuple[str, ...]
    df: int
    n_aliased: int
    share: Share


@dataclass(frozen=True)
class VarianceShares:
    """Terms by decreasing share, and the share that they leave unexplained.

    `residual` is the share that no main effect and no two-way interaction explains. In a balanced grid, raw shares and
    residual add up to 1. `p` is the probability that sampling errors make equal cells differ as much as these cells do,
    None if the errors are not known. `determined_by` maps axes that vary only along with another axis to that axis,
    whose share covers both. `aliased` lists terms that cannot be separated from the others and therefore have no share.
    """

    terms: tuple[Term, ...]
    residual: Share
    p: float | None
    determined_by: Mapping[str, str]
    aliased: tuple[tuple[str, ...], ...]


def variance_shares(
    values: NDArray[np.float64],
    axes: Mapping[str, Sequence[Hashable]],
    errors: SamplingErrors | None = None,
    *,
    alpha: float = 0.05,
) -> VarianceShares | None:
    """Return the shares of the axes with more than one level in the variance of `values`, float64[n_cells] without NaN.

    `axes` hold the level of every cell, None if a cell does not use the axis and says nothing about it. Sums of squares
    are of Type II: each term is adjusted for all terms that do not contain it. The order of the axes therefore does not
    matter, and the grid may have holes (failed cells). Return None if all values are equal.

    The average effect of the `errors` of the values is subtracted from a sum of squares. Intervals are at 1 - `alpha`.
    There are no corrected shares if the differences between the cells are not significant at the level `alpha`, because
    any axis may explain a large part of noise. There are none either if too few clusters leave the size of the errors
    unknown.
    Source: Langsrud 2003, "ANOVA for Unbalanced Data: Use Type II Instead of Type III Sums of Squares"; Searle, Casella
    & McCulloch 1992, "Variance Components", chapter 4 (effect of errors).
    """
    total = float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0
    # Values that differ only by rounding would give shares of noise.
    if total <= len(values) * (np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)) ** 2:
        return None
    determined_by = determined_axes(axes)
    mains = {name: column for name, column in _varying_axes(axes).items() if name not in determined_by}
    columns: dict[tuple[str, ...], Columns] = {(name,): main for name, main in mains.items()}
    columns |= {(a, b): _products(mains[a], mains[b]) for a, b in combinations(mains, 2)}
    samples = _Samples.from_values(values, errors)
    sums = _Sums(samples, errors, alpha)
    terms, aliased = [], []
    for names in columns:
        squares, df = _squares(names, columns, samples.stacked)
        if df:
            terms.append(Term(names, df, columns[names].shape[1] - df, sums.share(squares)))
        else:
            aliased.append(names)
    residual, _ = _fit(list(columns.values()), samples.stacked)
    ordered = tuple(sorted(terms, key=lambda term: -term.share.raw))
    return VarianceShares(ordered, sums.share(residual), errors.p if errors else None, determined_by, tuple(aliased))


@dataclass(frozen=True)
class _Samples:
    """`stacked` float64[n_cells, 1 + 2 * n_draws] holds the values, the values plus errors, and the errors alone."""

    stacked: NDArray[np.float64]
    n_draws: int

    @classmethod
    def from_values(cls, values: NDArray[np.float64], errors: SamplingErrors | None) -> "_Samples":
        draws = np.zeros((len(values), 0)) if errors is None else errors.draws.T
        column = values[:, np.newaxis]
        return cls(np.hstack([column, column + draws, draws]), draws.shape[1])


class _Sums:
    """Shares of sums of squares in the total, from sums for all columns of the samples."""

    def __init__(self, samples: _Samples, errors: SamplingErrors | None, alpha: float) -> None:
        self._n_draws, self._alpha = samples.n_draws, alpha
        self._is_corrected = errors is not None and errors.is_size_known and errors.p <= alpha
        self._total = ((samples.stacked - samples.stacked.mean(axis=0)) ** 2).sum(axis=0)

    def share(self, squares: NDArray[np.float64]) -> Share:
        """Return the share of a term with the sums of squares `squares`, float64[n_columns]."""
        raw = float(squares[0] / self._total[0])
        if not self._is_corrected:
            return Share(raw)
        drawn, noise = self._split(squares)
        total_drawn, total_noise = self._split(self._total)
        added, total_added = noise.mean(), total_noise.mean()
        corrected = np.clip((squares[0] - added) / max(self._total[0] - total_added, np.finfo(np.float64).tiny), 0, 1)
        # A draw contains errors twice: the errors of the values and the drawn ones.
        without_errors, total_without_errors = drawn - 2 * added, total_drawn - 2 * total_added
        is_known = total_without_errors > 0
        shares = np.clip(without_errors / np.where(is_known, total_without_errors, 1.0), 0, 1)
        low = np.quantile(np.where(is_known, shares, 0.0), self._alpha / 2)
        high = np.quantile(np.where(is_known, shares, 1.0), 1 - self._alpha / 2)
        return Share(raw, float(corrected), float(low), float(high))

    def _split(self, squares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Split sums into sums of the values plus errors, and sums of the errors alone, float64[n_draws] each."""
        return squares[1 : 1 + self._n_draws], squares[1 + self._n_draws :]


def determined_axes(axes: Mapping[str, Sequence[Hashable]]) -> dict[str, str]:
    """Map each axis that varies only along with another one to that axis. If two axes determine each other, the first
    stays.

    `axes` are as in `variance_shares`.
    """
    columns = _varying_axes(axes)
    determined_by: dict[str, str] = {}
    for name, design in reversed(columns.items()):
        for other, other_design in columns.items():
            if other != name and other not in determined_by and _rank([design, other_design]) == _rank([other_design]):
                determined_by[name] = other
                break
    return {name: _end(determined_by, other) for name, other in determined_by.items()}


def _end(determined_by: Mapping[str, str], name: str) -> str:
    """Return the axis at the end of the chain, because an axis that determines another may be determined itself."""
    return _end(determined_by, determined_by[name]) if name in determined_by else name


def _varying_axes(axes: Mapping[str, Sequence[Hashable]]) -> dict[str, Columns]:
    """Return the contrasts of the axes with more than one level."""
    columns = {name: _effect_columns(levels) for name, levels in axes.items()}
    return {name: column for name, column in columns.items() if column.shape[1]}


def _squares(
    names: tuple[str, ...], columns: Mapping[tuple[str, ...], Columns], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Return the sum of squares that the term explains beyond all terms not containing it, per column of values, and
    its df.
    """
    others = [other for term, other in columns.items() if not set(names) <= set(term)]
    left_without, rank_without = _fit(others, values)
    left_with, rank_with = _fit([*others, columns[names]], values)
    return np.maximum(left_without - left_with, 0.0), rank_with - rank_without


def _fit(columns: Sequence[Columns], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the residual sums of squares, float64[n_columns], and the rank of the least-squares fit with an
    intercept.
    """
    design = np.hstack([np.ones((len(values), 1)), *columns])
    coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    residual: NDArray[np.float64] = ((values - design @ coefficients) ** 2).sum(axis=0)
    return residual, int(rank)


def _effect_columns(levels: Sequence[Hashable]) -> Columns:
    """Return sum-to-zero contrasts of the levels, float64[n_cells, n_levels - 1]; zeros for a cell without a level."""
    used = list(dict.fromkeys(level for level in levels if level is not None))
    columns = np.array([[float(level == other) for other in used] for level in levels]).reshape(len(levels), len(used))
    contrasts: Columns = columns[:, :-1] - columns[:, -1:]
    return contrasts


def _products(a: Columns, b: Columns) -> Columns:
    """Return every column of one times every column of the other: the contrasts of their interaction."""
    return (a[:, :, np.newaxis] * b[:, np.newaxis, :]).reshape(len(a), -1)


def _rank(columns: Sequence[Columns]) -> int:
    return int(np.linalg.matrix_rank(np.hstack([np.ones((len(columns[0]), 1)), *columns])))
