"""What a sample size can show."""


def minimum_detectable_difference(standard_error: float, n_clusters: int, *, alpha: float, power: float) -> float:
    """The true difference that a two-sided test at `alpha` finds with probability `power`.

    `standard_error` is that of the difference, robust to clusters, and in its unit; `n_clusters` (at least 2) less one
    are the degrees of freedom. Formula: (t[1 - alpha / 2] + t[power]) * standard_error, with quantiles of Student's t.
    Source: Bloom 1995, "Minimum Detectable Effects".
    """
    from scipy.stats import t

    quantiles = t.ppf([1 - alpha / 2, power], n_clusters - 1)
    return float(quantiles.sum()) * standard_error
