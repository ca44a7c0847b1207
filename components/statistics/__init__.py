"""What the numbers of a sweep can and cannot show. Arrays in, small records out; nothing here reads a file.

contributions  what each group of samples adds to a metric of each cell
chance         how far apart chance drives cells that are equally good
paired         two cells on the same samples: difference, interval, p-value
multiplicity   many comparisons with one baseline
best           which cells may be the best of all
contrasts      levels of an axis against each other, interactions: the largest of many at once
noise          what chance adds to the metrics of all cells
power          the smallest difference that a sample size can show
right_or_wrong what an effect adds to the variance of scores that are 0 or 1
planning       the same for a sweep that is not run yet
variance       how much of the variance between cells each axis accounts for
front          the cells that no other cell beats in both quality and cost
krippendorff   how far raters agree beyond chance
"""

from components.statistics.best import BestCells, best_cells, p_of_equality
from components.statistics.contrasts import Contrasts, Tail, best_levels, contrasts, pairs, share_as_far
from components.statistics.contributions import Combine, Contributions, SampleScores, contributions, equal_cells
from components.statistics.front import dominators, pareto_front
from components.statistics.krippendorff import Alpha, MeasurementLevel, krippendorff_alpha
from components.statistics.multiplicity import benjamini_hochberg, holm, selected_level
from components.statistics.noise import SamplingErrors, sampling_errors
from components.statistics.paired import Comparison, PairedTest
from components.statistics.planning import Precision, assumed_precision, measured_precision
from components.statistics.power import (
    POWER,
    critical_value,
    critical_value_of_any_two,
    minimum_detectable_difference,
)
from components.statistics.right_or_wrong import RightOrWrong, right_or_wrong
from components.statistics.variance import Share, Term, VarianceShares, determined_axes, variance_shares

__all__ = [
    "POWER",
    "Alpha",
    "BestCells",
    "Combine",
    "Comparison",
    "Contrasts",
    "Contributions",
    "MeasurementLevel",
    "PairedTest",
    "Precision",
    "RightOrWrong",
    "SampleScores",
    "SamplingErrors",
    "Share",
    "Tail",
    "Term",
    "VarianceShares",
    "assumed_precision",
    "benjamini_hochberg",
    "best_cells",
    "best_levels",
    "contrasts",
    "contributions",
    "critical_value",
    "critical_value_of_any_two",
    "determined_axes",
    "dominators",
    "equal_cells",
    "holm",
    "krippendorff_alpha",
    "measured_precision",
    "minimum_detectable_difference",
    "p_of_equality",
    "pairs",
    "pareto_front",
    "right_or_wrong",
    "sampling_errors",
    "selected_level",
    "share_as_far",
    "variance_shares",
]
