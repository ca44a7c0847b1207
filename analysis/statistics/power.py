"""How small a difference a sample size can show."""


def critical_value(df: float, alpha: float) -> float:
    """Critical value of a two-sided test at `alpha`, in standard errors: Student's t with `df` degrees of freedom."""
    from scipy.stats import t

    return float(t.ppf(1 - alpha / 2, df))


def minimum_detectable_difference(standard_error: float, df: float, *, critical: float, power: float) -> float:
    """The true difference that a test finds with probability `power`.

    `standard_error` is that of the difference, robust to clusters and in its unit, with `df` degrees of freedom (at
    least 1). The test calls a difference of more than `critical` standard errors real.
    Formula: (critical + t[power]) * standard_error.
    Source: Bloom 1995, "Minimum Detectable Effects".
    """
    from scipy.stats import t

    return (critical + float(t.ppf(power, df))) * standard_error
