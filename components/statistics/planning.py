"""The smallest detectable difference of a planned sweep, from a measured or assumed spread of differences.

A measured spread comes from differences between other cells on the same samples.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from components.statistics import chance
from components.statistics.best import best_cells
from components.statistics.contributions import SampleScores, contributions
from components.statistics.grouped_mean import n_effective
from components.statistics.paired import PairedTest
from components.statistics.power import critical_range, minimum_detectable_difference
from components.statistics.right_or_wrong import RightOrWrong, right_or_wrong

ALPHA = 0.05

_N_RESAMPLES = 2_000
_MAX_TESTED_CELLS = 20
"""Cells of an earlier sweep, used to measure how far its samples are from normal noise. More cells take longer and add
little.
"""


@dataclass(frozen=True)
class Precision:
    """Precision of differences between two cells: the smallest and the largest of their standard errors.

    The errors have `df` degrees of freedom, from `n_clusters` clusters, worth `n_effective` of equal size. `excess` is
    the critical value of the test of these samples, relative to normal noise. It exceeds 1 if a few clusters dominate.
    `right_or_wrong` are the differences with these standard errors, if scores are 0 or 1.
    """

    standard_errors: tuple[float, float]
    df: float
    n_clusters: int
    n_effective: float
    excess: float = 1.0
    right_or_wrong: tuple[RightOrWrong | None, RightOrWrong | None] = (None, None)

    def detectable(self, n_cells: int, times: float = 1.0) -> list[float]:
        """Return the smallest detectable difference between two of `n_cells` cells for each standard error, with
        `times` as many clusters.

        It is infinite if too few clusters allow no p-value below alpha, or if no difference can be that large.
        """
        is_right_or_wrong = any(self.right_or_wrong)
        smallest_p = PairedTest().smallest_p(self.n_clusters, self.n_effective, is_right_or_wrong=is_right_or_wrong)
        if self.df < 1 or smallest_p > ALPHA:
            return [float("inf")] * len(self.standard_errors)
        df = self.df * times
        critical = self.excess * critical_range(n_cells, df, ALPHA)
        return [
            minimum_detectable_difference(error / times**0.5, df, critical=critical, right_or_wrong=scores)
            for error, scores in zip(self.standard_errors, self.right_or_wrong, strict=True)
        ]

    def times_as_many(self, difference: float, n_cells: int) -> list[float]:
        """Return the factor on the number of clusters that would make `difference` detectable, for each standard error.

        The excess stays constant, although it would shrink with more clusters.
        """
        # Degrees of freedom grow with the clusters but matter little, so two steps suffice.
        undisturbed = replace(self, right_or_wrong=(None, None))
        targets = [scores.without_effect(difference) if scores else difference for scores in self.right_or_wrong]
        first = [(size / target) ** 2 for size, target in zip(undisturbed.detectable(n_cells), targets, strict=True)]
        return [
            times * (undisturbed.detectable(n_cells, times)[index] / targets[index]) ** 2
            if np.isfinite(times)
            else times
            for index, times in enumerate(first)
        ]


def measured_precision(scores: SampleScores, *, larger_is_better: bool) -> Precision | None:
    """Return the precision of the differences that `compare` tests: between the best of these cells and all that differ
    from it.

    Return None if no cell differs from the best one, or if a difference has no known spread.
    """
    first = np.sort(np.unique(scores.statistics, axis=1, return_index=True)[1])  # equal cells are one
    scores = replace(scores, statistics=scores.statistics[:, first])
    cells = contributions(scores)
    if not cells.has_spread or len(cells.values) < 2:
        return None
    ahead = cells.values if larger_is_better else -cells.values
    order = np.argsort(-ahead, kind="stable")
    best, others = int(order[0]), order[1:]
    errors = chance.standard_errors(cells.subtract_cell(best, others))
    others, errors = others[errors > 0], errors[errors > 0]
    if not others.size:
        return None
    ends = [int(errors.argmin()), int(errors.argmax())]
    against_best = np.zeros((len(order), len(ends)))
    against_best[best] = -1.0
    against_best[others[ends], [0, 1]] = 1.0
    smallest, largest = errors[ends].tolist()
    scores_least, scores_most = right_or_wrong(scores, against_best)
    excess = _excess(scores, order)
    return Precision(
        (smallest, largest), cells.df, cells.n_clusters, cells.n_effective, excess, (scores_least, scores_most)
    )


def _excess(scores: SampleScores, order: NDArray[np.intp]) -> float:
    tested = order[:_MAX_TESTED_CELLS]
    some = SampleScores(scores.statistics[:, tested], scores.clusters, scores.strata, scores.combine)
    # It does not matter here which cells are the best, so either direction works.
    critical = best_cells(some, larger_is_better=True, alpha=ALPHA, n_resamples=_N_RESAMPLES, seed=0).critical
    assert critical is not None, "there are samples"
    return critical / critical_range(len(tested), contributions(some).df, ALPHA)


def assumed_precision(clusters: NDArray[np.int64], *, deviation: float, correlation: float) -> Precision:
    """Return the precision of a mean over samples in `clusters`, int64[n_samples].

    The differences between two cells are assumed to have this standard deviation, and two samples of one cluster this
    correlation.
    Source: Kish 1965, "Survey Sampling", the design effect.
    """
    sizes = np.unique(clusters, return_counts=True)[1]
    n = int(sizes.sum())
    if not n:
        return Precision((float("inf"), float("inf")), 0, 0, 0.0)
    worth = n_effective(clusters)
    design_effect = 1 + correlation * (n / worth - 1)
    error = deviation * (design_effect / n) ** 0.5
    return Precision((error, error), len(sizes) - 1, len(sizes), worth)
