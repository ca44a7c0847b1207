"""How small a difference a sample size can show."""

from functools import cache

from components.statistics.right_or_wrong import RightOrWrong

POWER = 0.8
"""The probability with which a difference of the size called detectable is found."""


def critical_value(df: float, alpha: float) -> float:
    """Critical value of a two-sided test at `alpha`, in standard errors: Student's t with `df` degrees of freedom."""
    from scipy.stats import t

    return float(t.ppf(1 - alpha / 2, df))


@cache  # an integral, which takes a tenth of a second
def critical_value_of_any_two(n_cells: int, df: float, alpha: float) -> float:
    """What the largest difference between any two of `n_cells` equally good cells exceeds with probability `alpha`, in
    standard errors of a difference: the studentised range, for normal noise. For two cells it is `critical_value`.

    Source: Tukey 1953; too large, never too small, where some differences are better known than others (Hayter 1984,
    Annals of Statistics 12(1)).
    """
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - alpha, n_cells, df)) / 2**0.5


def minimum_detectable_difference(
    standard_error: float,
    df: float,
    *,
    critical: float,
    power: float = POWER,
    right_or_wrong: RightOrWrong | None = None,
) -> float:
    """The true difference that a test finds with probability `power`; infinite where none can be so large.

    `standard_error` is that of the difference, robust to clusters and in its unit, with `df` degrees of freedom (at
    least 1). The test calls a difference of more than `critical` standard errors real.
    Formula: (critical + t[power]) * standard_error. Of scores that are `right_or_wrong` the standard error is that
    which the difference itself brings about.
    Source: Bloom 1995, "Minimum Detectable Effects".
    """
    from scipy.stats import t

    size = (critical + float(t.ppf(power, df))) * standard_error
    return size if right_or_wrong is None else right_or_wrong.with_effect(size)
