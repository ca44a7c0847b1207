"""Comparison of all cells of a sweep with one of them, on the samples that all of them have."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.comparison_family import BETTER, MAY_BE_BEST, UNDECIDED, WORSE, ComparisonRow, Family, Standing
from components.errors import DataError
from components.statistics import (
    Comparison,
    PairedTest,
    RightOrWrong,
    SampleScores,
    best_cells,
    contributions,
    holm,
    minimum_detectable_difference,
    right_or_wrong,
    times_as_many,
    within_standard_error,
)
from runner.results import (
    BEST,
    NO_BEST,
    OK,
    CellResult,
    CommonSamples,
    LoadedSweep,
    SubsetMetric,
    average_draws,
    collect_group_scores,
    common_samples,
    equal_groups,
    without_bounds,
)

_DIGITS = 12
"""Decimals to which means are rounded. Differences beyond are rounding errors."""


def compare_cells(
    sweep: LoadedSweep, metric: SubsetMetric, test: PairedTest, *, baseline: str = "", alpha: float = 0.05
) -> Family:
    """Compare the cells that did not fail with `baseline` (see `LoadedSweep.cell`). If that is "" or "best", compare
    them with the best cell by this metric. Upper bounds (`runner.results.is_bound`) then take part only if fewer than
    two other cells have a value.

    Raises DataError if fewer than two cells have a value, if the baseline has no value, if the cells share no sample,
    or if the metric has no better direction.
    """
    metric.direction()
    if baseline in ("", BEST):
        sweep.require_grid(NO_BEST)
    successful = [cell for cell in sweep.cells if cell.status == OK]
    valued = [cell for cell in successful if metric.value(cell) is not None]
    named = sweep.cell(baseline) if baseline not in ("", BEST) else None
    if named and named not in valued:
        why = f"it is {named.status}" if named.status != OK else f"it has no value of {metric}"
        raise DataError(f"--baseline {baseline}: {named.cell_id} cannot be the baseline: {why}")
    choosable = without_bounds(valued)
    eligible = valued if named or len(choosable) < 2 else choosable
    bounds = tuple(cell for cell in valued if cell not in eligible)
    valued = eligible
    if len(valued) < 2:
        raise DataError(
            f"{sweep.name}: {len(valued)} of {len(sweep.cells)} cells have a value of {metric}; a comparison needs two"
        )
    first = named or max(valued, key=lambda cell: int(cell.metrics[metric.subset][metric.metric]["n"]))
    others = [cell for cell in valued if cell is not first]
    joined = average_draws(
        common_samples([first, *others], sweep.folder_of, metric.metric, metric.subset), sweep.folder_of
    )
    if len(joined.cells) < 2:
        raise DataError(f"{sweep.name}: no two cells have a value of {metric} for the same sample")
    table = _Table(*_order_cells(sweep, joined, metric, named))
    family = Family(
        sweep=sweep,
        metric=metric,
        baseline=table.standings[0],
        baseline_is_best=named is None,
        alpha=alpha,
        test=test,
        rows=(),
        n=joined.n,
        n_known=joined.n_known,
        n_clusters=len(np.unique(joined.clusters)),
        n_effective=0.0,
        left_out_differ=joined.left_out_differ,
        failed=sweep.failed,
        without_value=tuple(cell for cell in successful if cell not in (*valued, *bounds)),
        bounds=bounds,
        apart=joined.apart,
    )
    if len(table.standings) == 1:
        return replace(family, n_effective=contributions(table.scores).n_effective)
    rows = _rows(family, table)
    return replace(family, rows=rows, n_effective=rows[0].comparison.n_effective)


class _Table(NamedTuple):
    """Standings and their scores, both with the baseline first, then best first. No two have identical scores."""

    standings: list[Standing]
    scores: SampleScores


def _order_cells(
    sweep: LoadedSweep, joined: CommonSamples, metric: SubsetMetric, named: CellResult | None
) -> tuple[list[Standing], SampleScores]:
    means = joined.means().round(_DIGITS)
    groups = equal_groups(joined, larger_is_better=metric.direction(), first=named)
    if any(len(group) > 1 for group in groups):
        # A row of the leaderboard also shows the recommended cell before equal ones.
        best_id = sweep.best(f"{metric.subset}:{metric.metric}").cell_id
        is_later = [(cell is not named, cell.cell_id != best_id) for cell in joined.cells]
        groups = [sorted(group, key=is_later.__getitem__) for group in groups]
    standings = [_standing(joined, metric, places, float(means[places[0]])) for places in groups]
    return standings, collect_group_scores(joined, groups)


def _standing(joined: CommonSamples, metric: SubsetMetric, columns: Sequence[int], mean: float) -> Standing:
    cell, *same = (joined.cells[column] for column in columns)
    own_mean = metric.value(cell)
    assert own_mean is not None, "cells without a value are listed apart"
    return Standing(cell, tuple(same), mean, own_mean, joined.n_own(columns[0]), joined.left_out[columns[0]])


class _Correction(NamedTuple):
    """Adjusted p-values of all rows, the strictest level that a p-value must meet, and the critical value at that
    level, in standard errors. If `critical` is None, each row has its critical value.
    """

    p: NDArray[np.float64]
    level: float
    critical: float | None


def _rows(family: Family, table: _Table) -> tuple[ComparisonRow, ...]:
    n_rows = len(table.standings) - 1
    n_corrected = n_rows + family.n_corrected
    comparisons = family.test.compare(table.scores, family.alpha / (n_rows if family.baseline_is_best else n_corrected))
    correction = (
        _correct_against_best(family, table.scores)
        if family.baseline_is_best
        else _Correction(holm([_number(one.p) for one in comparisons], n_corrected), family.alpha / n_corrected, None)
    )
    against_first = right_or_wrong(table.scores, np.vstack([np.full(n_rows, -1.0), np.eye(n_rows)]))
    rows = []
    are_near = within_standard_error(contributions(table.scores))[1:].tolist()
    for standing, comparison, p, scores, is_near in zip(
        table.standings[1:], comparisons, correction.p.tolist(), against_first, are_near, strict=True
    ):
        verdict = _verdict(family, comparison, is_shown=p <= family.alpha)
        detectable = _detectable(comparison, family.test, correction, scores)
        can_tell = p > family.alpha and detectable is not None
        n_needed = _n_needed(comparison, correction) if can_tell else None
        rows.append(ComparisonRow(standing, comparison, p, verdict, detectable, n_needed, is_near))
    return tuple(rows)


def _number(value: float | None) -> float:
    assert value is not None, "the cells have samples in common"
    return value


def _correct_against_best(family: Family, scores: SampleScores) -> _Correction:
    confidence_set = best_cells(
        scores,
        larger_is_better=family.metric.direction(),
        alpha=family.alpha,
        n_resamples=family.test.n_resamples,
        seed=family.test.seed,
    )
    return _Correction(confidence_set.p[1:], family.alpha, confidence_set.critical)


def _verdict(family: Family, comparison: Comparison, *, is_shown: bool) -> str:
    if not is_shown:
        return MAY_BE_BEST if family.baseline_is_best else UNDECIDED
    return BETTER if (_number(comparison.difference) > 0) == family.metric.direction() else WORSE


def _detectable(
    comparison: Comparison, test: PairedTest, correction: _Correction, scores: RightOrWrong | None
) -> float | None:
    error = comparison.standard_error
    # No difference is significant if even the most extreme data would not reach the level.
    smallest_p = test.smallest_p(comparison.n_clusters, comparison.n_effective, is_right_or_wrong=scores is not None)
    if not error or smallest_p > correction.level:
        return None
    critical = correction.critical if correction.critical is not None else comparison.critical
    if critical is None or not np.isfinite(critical):
        return None
    size = minimum_detectable_difference(error, comparison.df, critical=critical, right_or_wrong=scores)
    return size if np.isfinite(size) else None


def _n_needed(comparison: Comparison, correction: _Correction) -> int | None:
    critical = correction.critical if correction.critical is not None else comparison.critical
    return samples_needed(comparison, comparison.difference, critical)


def samples_needed(comparison: Comparison, difference: float | None, critical: float | None) -> int | None:
    """Return the samples with which the test would find a true difference, rounded up.

    None if the test has enough, if the spread is unknown, or for no difference. A difference is significant if it
    exceeds `critical` standard errors.
    """
    error = comparison.standard_error
    if not error or not difference or critical is None or not math.isfinite(critical):
        return None
    times = times_as_many(abs(difference), error, comparison.df, critical=critical)
    return math.ceil(comparison.n * times) if times > 1 else None
