"""The smallest detectable difference at a sample size, and the sample size for a difference."""

from functools import cache

from components.statistics.right_or_wrong import RightOrWrong

POWER = 0.8
"""The probability of finding a difference of the smallest detectable size."""

_N_STEPS = 4


def critical_value(df: float, alpha: float) -> float:
    """Return the critical value of a two-sided test at `alpha`, in standard errors: Student's t with `df` degrees of
    freedom.
    """
    from scipy.stats import t

    return float(t.ppf(1 - alpha / 2, df))


@cache  # an integral, which takes a tenth of a second
def critical_range(n_cells: int, df: float, alpha: float) -> float:
    """Return the value that the largest difference between any two of `n_cells` equally good cells exceeds with
    probability `alpha`.

    It is the studentized range for normal noise, in standard errors of a difference. For two cells it equals
    `critical_value`.

    Source: Tukey 1953. The value is too large, never too small, if differences have unequal standard errors (Hayter
    1984, Annals of Statistics 12(1)).
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
    """Return the true difference that a test finds with probability `power`; infinite if no difference can be so large.

    `standard_error` is the cluster-robust standard error of the difference, in its unit, with `df` degrees of freedom
    (at least 1). The test calls a difference of more than `critical` standard errors significant.
    Formula: (critical + t[power]) * standard_error. For `right_or_wrong` scores, the standard error includes the
    variance that the difference itself adds.
    Source: Bloom 1995, "Minimum Detectable Effects".
    """
    from scipy.stats import t

    size = (critical + float(t.ppf(power, df))) * standard_error
    return size if right_or_wrong is None else right_or_wrong.with_effect(size)


def times_as_many(
    difference: float, standard_error: float, df: float, *, critical: float, power: float = POWER
) -> float:
    """Return the factor on the number of clusters with which a test finds this true difference with probability
    `power`; infinite for no difference.

    `standard_error` is estimated from paired differences, as for `minimum_detectable_difference`. It includes the
    variance of right-or-wrong scores at the observed difference. Additional clusters have the same sizes. The level of
    the test stays constant, so `critical` shrinks as the degrees of freedom grow.
    Formula: ((critical + t[power]) * standard_error / difference)^2, solved by iteration.
    """
    from scipy.stats import t

    if not difference:
        return float("inf")
    level = float(t.sf(critical, df))
    times = 1.0
    for _ in range(_N_STEPS):  # each step changes little more than the degrees of freedom of t
        df_then = max(1.0, df * times)
        times = (float(t.isf(level, df_then) + t.ppf(power, df_then)) * standard_error / difference) ** 2
    return times
