"""How much of the variance between the cells of a grid each axis accounts for."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Columns = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """An axis (`axes` has one name) or the interaction of two.

    `share` is eta squared: the term's sum of squares over the total, in [0, 1]. `df` are its degrees of freedom;
    `n_aliased` are those that it loses because other terms vary along with it.
    """

    axes: tuple[str, ...]
    df: int
    n_aliased: int
    share: float


@dataclass(frozen=True)
class VarianceShares:
    """Terms by decreasing share, and what they leave unexplained.

    `residual` is the share that no main effect and no two-way interaction explains. In a balanced grid shares and
    residual add up to 1. `determined_by` names axes that vary only along with another one, which stands for both.
    `aliased` are terms that cannot be separated from the others, and so have no share of their own.
    """

    terms: tuple[Term, ...]
    residual: float
    determined_by: Mapping[str, str]
    aliased: tuple[tuple[str, ...], ...]


def variance_shares(values: NDArray[np.float64], axes: Mapping[str, Sequence[Hashable]]) -> VarianceShares | None:
    """Shares of the axes with more than one level in the variance of `values`, float64[n_cells] without NaN.

    `axes` hold the level of every cell, None where a cell does not use the axis: such a cell says nothing about it.
    Sums of squares are of Type II: each term is adjusted for all terms that do not contain it, so the order of the axes
    does not matter and holes in the grid (failed cells) are allowed. None if all values are equal.
    Shares describe these cells; part of every share is sampling error of the values.
    Source: Langsrud 2003, "ANOVA for Unbalanced Data: Use Type II Instead of Type III Sums of Squares".
    """
    total = float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0
    # Values that differ only by rounding would give shares of noise.
    if total <= len(values) * (np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)) ** 2:
        return None
    determined_by = determined_axes(axes)
    mains = {name: column for name, column in _varying(axes).items() if name not in determined_by}
    columns: dict[tuple[str, ...], Columns] = {(name,): main for name, main in mains.items()}
    columns |= {(a, b): _products(mains[a], mains[b]) for a, b in combinations(mains, 2)}
    terms, aliased = [], []
    for names in columns:
        term = _term(names, columns, values, total)
        if term.df:
            terms.append(term)
        else:
            aliased.append(names)
    residual, _ = _fit(list(columns.values()), values)
    ordered = tuple(sorted(terms, key=lambda term: -term.share))
    return VarianceShares(ordered, residual / total, determined_by, tuple(aliased))


def determined_axes(axes: Mapping[str, Sequence[Hashable]]) -> dict[str, str]:
    """Axes that vary only along with another one, each with that one; of axes that do so mutually the first stays.

    `axes` are as in `variance_shares`.
    """
    columns = _varying(axes)
    determined_by: dict[str, str] = {}
    for name, own in reversed(columns.items()):
        for other, others in columns.items():
            if other != name and other not in determined_by and _rank([own, others]) == _rank([others]):
                determined_by[name] = other
                break
    return {name: _end(determined_by, other) for name, other in determined_by.items()}


def _end(determined_by: Mapping[str, str], name: str) -> str:
    """The axis at the end of the chain: one that determines another may be determined itself."""
    return _end(determined_by, determined_by[name]) if name in determined_by else name


def _varying(axes: Mapping[str, Sequence[Hashable]]) -> dict[str, Columns]:
    """The contrasts of the axes with more than one level."""
    columns = {name: _effect_columns(levels) for name, levels in axes.items()}
    return {name: column for name, column in columns.items() if column.shape[1]}


def _term(
    names: tuple[str, ...], columns: Mapping[tuple[str, ...], Columns], values: NDArray[np.float64], total: float
) -> Term:
    """What the term explains beyond all terms that do not contain it."""
    others = [other for term, other in columns.items() if not set(names) <= set(term)]
    left_without, rank_without = _fit(others, values)
    left_with, rank_with = _fit([*others, columns[names]], values)
    df = rank_with - rank_without
    share = max(left_without - left_with, 0.0) / total if df else 0.0
    return Term(names, df, columns[names].shape[1] - df, share)


def _fit(columns: Sequence[Columns], values: NDArray[np.float64]) -> tuple[float, int]:
    """Residual sum of squares and rank of the least-squares fit with an intercept."""
    design = np.hstack([np.ones((len(values), 1)), *columns])
    coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    return float(((values - design @ coefficients) ** 2).sum()), int(rank)


def _effect_columns(levels: Sequence[Hashable]) -> Columns:
    """Sum-to-zero contrasts of the levels, float64[n_cells, n_levels - 1]; zeros for a cell without a level."""
    used = list(dict.fromkeys(level for level in levels if level is not None))
    columns = np.array([[float(level == each) for each in used] for level in levels]).reshape(len(levels), len(used))
    contrasts: Columns = columns[:, :-1] - columns[:, -1:]
    return contrasts


def _products(a: Columns, b: Columns) -> Columns:
    """Every column of one times every column of the other: the contrasts of their interaction."""
    return (a[:, :, np.newaxis] * b[:, np.newaxis, :]).reshape(len(a), -1)


def _rank(columns: Sequence[Columns]) -> int:
    return int(np.linalg.matrix_rank(np.hstack([np.ones((len(columns[0]), 1)), *columns])))
