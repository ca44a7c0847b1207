"""Variance for values that the observed clusters may not have shown."""

import numpy as np

from components.metrics.cluster_sums import Values
from components.metrics.spread import Spread

_WEIGHT = 8.0


def unseen_variance(found: Spread) -> Values:
    """Return the variance that a share lacks for values that the clusters may not have shown, float64[n_results].

    If nearly all clusters have the same value, the jackknife finds hardly any variance, although a few in a hundred
    further clusters may differ. A share varies by at most p (1 - p). We add the variance that some clusters with that
    maximum would have. It shrinks with the square of the number of differing clusters: ROUGE's interval over 30
    clusters becomes 1 % wider.

    The weight is our choice, from simulations. With two values, one of them rare, intervals cover the truth in at least
    90 % of cases. With half the weight, they cover it in 79 % of cases if a 0 is rare among values of .9.
    """
    largest = found.value * (1 - found.value)
    with np.errstate(divide="ignore"):
        added: Values = _WEIGHT * largest / ((1 + found.n_differing**2) * found.n_effective**2)
    return added
