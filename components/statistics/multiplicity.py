"""Corrections for many comparisons: the more comparisons, the more of them look significant by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike, n_family: int = 0) -> NDArray[np.float64]:
    """Return p-values adjusted for the family that they form, float64[n], each between its raw value and 1.

    `n_family` is the size of a larger family, whose other members were not tested: they count as not different.

    If only comparisons with an adjusted p of at most alpha are called different, the probability of any false call is
    at most alpha, however the comparisons depend on each other. NaN marks a comparison without a p-value. It stays NaN
    and does not count. An empty family gives an empty array.
    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    rows = np.flatnonzero(~np.isnan(raw))
    rows = rows[np.argsort(raw[rows], kind="stable")]
    # The smallest p is multiplied by n, the next by n - 1, ...; the running maximum keeps their order.
    n_left = max(n_family, len(rows)) - np.arange(len(rows))
    adjusted[rows] = np.minimum(np.maximum.accumulate(raw[rows] * n_left), 1.0)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted for the false discovery rate, float64[n], each between its raw value and 1.

    If tests with an adjusted p of at most alpha are called findings, on average at most a share alpha of the findings
    is false (0 if there are no findings). This holds for independent p-values and for positively dependent ones.
    Without true differences, the probability of any finding is therefore at most alpha. NaN marks a test without a
    p-value. It stays NaN and is not counted in the family.
    Source: Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001, Annals of Statistics 29(4) (positive dependence).
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    rows = np.flatnonzero(~np.isnan(raw))
    rows = rows[np.argsort(-raw[rows], kind="stable")]
    # The largest p stays, the next is multiplied by n / (n - 1), ...; the running minimum keeps their order.
    ranks = np.arange(len(rows), 0, -1)
    adjusted[rows] = np.minimum.accumulate(raw[rows] * len(rows) / ranks)
    return adjusted


def selected_level(p: ArrayLike, alpha: float) -> float:
    """Return the level for further tests within each finding of `benjamini_hochberg`: alpha times the share of findings
    among the tests, or 0 if there are no findings.

    Suppose that every finding is a family of claims, and the probability of any false claim in a family is at most this
    level. Then, on average, at most a share alpha of the examined families has a false claim.
    Source: Benjamini & Bogomolov 2014, Journal of the Royal Statistical Society B 76(1).
    """
    adjusted = benjamini_hochberg(p)
    n_tests = int((~np.isnan(adjusted)).sum())
    return alpha * int((adjusted <= alpha).sum()) / n_tests if n_tests else 0.0
