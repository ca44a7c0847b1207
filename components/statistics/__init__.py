"""Statistics of a sweep: which differences its data support.

Functions take arrays, return small records and read no file.

    contributions  what each group of samples adds to a metric of each cell
    chance         distribution of differences between equally good cells
    paired         two cells on the same samples: difference, interval, p-value
    multiplicity   correction for many comparisons with one baseline
    best           the cells that may be the best of all
    contrasts      levels of an axis against each other, and interactions: the largest of many
    noise          sampling errors of the metrics of all cells
    power          the smallest detectable difference at a sample size, and the reverse
    right_or_wrong effect of a difference on the variance of scores that are 0 or 1
    planning       the smallest detectable difference of a planned sweep
    variance       share of the variance between cells that each axis explains
    front          cells for which no other cell is at least as good and at least as cheap, and better in one
    racing         cells that can no longer win, at looks during a run
    krippendorff   agreement of raters beyond chance
"""

from components.statistics.best import BestCells, best_cells, equal_cells_p_value, within_standard_error
from components.statistics.contrasts import Contrasts, Tail, best_levels, contrasts, pairs, tail_share
from components.statistics.contributions import Combine, Contributions, SampleScores, contributions, equal_cells
from components.statistics.front import dominators, pareto_front
from components.statistics.krippendorff import Alpha, MeasurementLevel, krippendorff_alpha
from components.statistics.multiplicity import benjamini_hochberg, holm, selected_level
from components.statistics.noise import SamplingErrors, sampling_errors
from components.statistics.paired import Comparison, PairedTest
from components.statistics.planning import Precision, assumed_precision, measured_precision
from components.statistics.power import (
    POWER,
    critical_range,
    critical_value,
    minimum_detectable_difference,
    times_as_many,
)
from components.statistics.racing import Race, RaceRules, Races, Stop, forecast, replay, share_before_stop
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
    "Race",
    "RaceRules",
    "Races",
    "RightOrWrong",
    "SampleScores",
    "SamplingErrors",
    "Share",
    "Stop",
    "Tail",
    "Term",
    "VarianceShares",
    "assumed_precision",
    "benjamini_hochberg",
    "best_cells",
    "best_levels",
    "contrasts",
    "contributions",
    "critical_range",
    "critical_value",
    "determined_axes",
    "dominators",
    "equal_cells",
    "equal_cells_p_value",
    "forecast",
    "holm",
    "krippendorff_alpha",
    "measured_precision",
    "minimum_detectable_difference",
    "pairs",
    "pareto_front",
    "replay",
    "right_or_wrong",
    "sampling_errors",
    "selected_level",
    "share_before_stop",
    "tail_share",
    "times_as_many",
    "variance_shares",
    "within_standard_error",
]
