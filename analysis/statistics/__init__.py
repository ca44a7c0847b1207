"""What the numbers of a sweep can and cannot show. Arrays in, small records out; nothing here reads a file.

contributions  what each group of samples adds to a metric of each cell
chance         how far apart chance drives cells that are equally good
paired         two cells on the same samples: difference, interval, p-value
multiplicity   many comparisons with one baseline
best           which cells may be the best of all
noise          what chance adds to the metrics of all cells
power          the smallest difference that a sample size can show
variance       how much of the variance between cells each axis accounts for
front          the cells that no other cell beats in both quality and cost
"""

from analysis.statistics.best import BestCells, best_cells
from analysis.statistics.contributions import Combine, SampleScores, contributions
from analysis.statistics.front import dominators, pareto_front
from analysis.statistics.multiplicity import holm
from analysis.statistics.noise import sampling_errors
from analysis.statistics.paired import Comparison, PairedTest
from analysis.statistics.power import critical_value, minimum_detectable_difference
from analysis.statistics.variance import Share, Term, VarianceShares, determined_axes, variance_shares

__all__ = [
    "BestCells",
    "Combine",
    "Comparison",
    "PairedTest",
    "SampleScores",
    "Share",
    "Term",
    "VarianceShares",
    "best_cells",
    "contributions",
    "critical_value",
    "determined_axes",
    "dominators",
    "holm",
    "minimum_detectable_difference",
    "pareto_front",
    "sampling_errors",
    "variance_shares",
]
