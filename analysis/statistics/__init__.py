"""What the numbers of a sweep can and cannot show. Arrays in, small records out: nothing here reads a file.

paired        two cells on the same samples: difference, interval, p-value
multiplicity  many comparisons at once
power         the smallest difference that a sample size can show
variance      the share of each axis in what the cells differ by
front         the cells that no other beats in both quality and cost
"""

from analysis.statistics.front import dominators, pareto_front
from analysis.statistics.multiplicity import holm
from analysis.statistics.paired import Comparison, Method, PairedTest
from analysis.statistics.power import minimum_detectable_difference
from analysis.statistics.variance import Term, VarianceShares, determined_axes, variance_shares

__all__ = [
    "Comparison",
    "Method",
    "PairedTest",
    "Term",
    "VarianceShares",
    "determined_axes",
    "dominators",
    "holm",
    "minimum_detectable_difference",
    "pareto_front",
    "variance_shares",
]
