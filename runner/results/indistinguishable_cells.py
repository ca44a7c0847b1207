"""Cells that do not differ significantly from the best one, by the test of `python -m analysis compare`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from components.statistics import (
    PairedTest,
    SampleScores,
    best_cells,
    contributions,
    right_or_wrong,
    within_standard_error,
)
from runner.results.cell_result import CellResult
from runner.results.joined_samples import CommonSamples, average_draws, common_samples, put_most_samples_first
from runner.results.sample_groups import too_few_groups

ALPHA = 0.05
"""Probability that the truly best cell is excluded from the cells that may be the best."""

MANY_CELLS, N_RESAMPLES_OF_MANY = 100, 1_999
"""With more cells, comparing all pairs in all resamples takes too long, so there are fewer resamples."""

_DIGITS = 12
"""Means that agree in this many decimals differ only by rounding."""


def paired_test(n_cells: int, alpha: float = ALPHA) -> PairedTest:
    """Return the test for a sweep of `n_cells` cells."""
    usual = PairedTest(confidence=1 - alpha)
    return replace(usual, n_resamples=N_RESAMPLES_OF_MANY) if n_cells > MANY_CELLS else usual


def equal_groups(joined: CommonSamples, *, larger_is_better: bool, first: CellResult | None = None) -> list[list[int]]:
    """Return the indices of the cells, grouped by equal values, also of samples that others lack.

    The group of `first` comes first, if given. The others follow in the order of their means, best first.
    """
    sign = 1 if larger_is_better else -1
    means = joined.means().round(_DIGITS)
    order = sorted(range(len(joined.cells)), key=lambda index: (joined.cells[index] is not first, -sign * means[index]))
    groups: dict[tuple[bytes, str], list[int]] = {}
    for index in order:
        reasons = repr(sorted(joined.left_out[index].items()))
        groups.setdefault((joined.value_digests[index], reasons), []).append(index)
    return list(groups.values())


def collect_group_scores(joined: CommonSamples, groups: Sequence[Sequence[int]]) -> SampleScores:
    """Return the scores of one cell of each group, in the order of the groups."""
    statistics = joined.statistics[:, [group[0] for group in groups]]
    return SampleScores(statistics, joined.clusters, joined.strata, joined.combine)


class IndistinguishableCells(NamedTuple):
    """The samples that cells have in common, and the groups of equal cells that may be the best, best mean first.

    `is_near` tells for each group whether it is within one standard error of the first. `too_few` is "" or says that no
    difference could be significant (`too_few_groups`).
    """

    joined: CommonSamples
    groups: list[list[int]]
    is_near: list[bool]
    too_few: str = ""


def find_indistinguishable_cells(
    cells: Sequence[CellResult],
    folder_of: Callable[[CellResult], Path],
    metric: str,
    subset: str,
    *,
    larger_is_better: bool,
    test: PairedTest,
) -> IndistinguishableCells:
    """Find the cells that may be the best.

    All cells have a value of the metric. Only the first cell of `put_most_samples_first` needs its configuration.
    Raises DataError if samples cannot be read.
    """
    joined = average_draws(
        common_samples(put_most_samples_first(cells, metric, subset), folder_of, metric, subset), folder_of
    )
    groups = equal_groups(joined, larger_is_better=larger_is_better)
    if not joined.n or len(groups) < 2:
        return IndistinguishableCells(joined, groups, [True] * len(groups))
    alpha = 1 - test.confidence
    scores = collect_group_scores(joined, groups)
    confidence_set = best_cells(
        scores,
        larger_is_better=larger_is_better,
        alpha=alpha,
        n_resamples=test.n_resamples,
        seed=test.seed,
    )
    tied = [index for index, p in enumerate(confidence_set.p.tolist()) if p > alpha]
    spread = contributions(scores)
    is_near = within_standard_error(spread).tolist()
    n_clusters, n_others = len(np.unique(joined.clusters)), len(groups) - 1
    against_first = right_or_wrong(scores, np.vstack([np.full(n_others, -1.0), np.eye(n_others)]))
    smallest_p = test.smallest_p(n_clusters, spread.n_effective, is_right_or_wrong=any(against_first))
    return IndistinguishableCells(
        joined,
        [groups[index] for index in tied],
        [is_near[index] for index in tied],
        too_few_groups(n_clusters, spread.n_effective) if smallest_p > alpha else "",
    )
