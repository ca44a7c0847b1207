"""How small a difference a sample size can show."""


def critical_value(n_clusters: int, alpha: float) -> float:
    """Critical value of a two-sided test at `alpha`, in standard errors: Student's t with `n_clusters` - 1 degrees of
    freedom.
    """
    from scipy.stats import t

    return float(t.ppf(1 - alpha / 2, n_clusters - 1))


def minimum_detectable_difference(standard_error: float, n_clusters: int, *, critical: float, power: float) -> float:
    """The true difference that a test finds with probability `power`.

    `standard_error` is that of the difference, robust to clusters and in its unit. The test calls a difference of more
    than `critical` standard errors real. Student's t has `n_clusters` - 1 degrees of freedom, so at least 2 are needed.
    Formula: (critical + t[power]) * standard_error.
    Source: Bloom 1995, "Minimum Detectable Effects".
    """
    from scipy.stats import t

    return (critical + float(t.ppf(power, n_clusters - 1))) * standard_error
