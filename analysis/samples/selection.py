"""Selection and order of a cell's samples to show."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from components.errors import DataError
from components.forensics.failures import Failure
from components.limits import expected_one_of
from components.records import ScoreState
from runner.results import (
    CellResult,
    Labels,
    LoadedSweep,
    SampleKey,
    ScoredSamples,
    SubsetMetric,
    distinguishing_labels,
    is_corpus_metric,
    is_turn_subset,
    read_scored,
)

NO_FAILURE = "none"
"""Command-line name of the class of samples that did not fail."""


@dataclass(frozen=True)
class Selection:
    """The samples to show in order, as keys and as rows of each cell's table.

    `n` is the number before the limit. `without_value` counts samples without a value of the metric by reason; they
    come last. `are_equal` is true if all samples of a single cell have the same
    value, so the metric does not order them.
    """

    keys: Sequence[SampleKey]
    rows: Sequence[tuple[int, ...]]
    n: int
    without_value: Counter[str]
    are_equal: bool = False


def find_failure_class(text: str) -> Failure:
    """Return the class of failures that a user named. Raises DataError for an unknown name."""
    names = {failure.value or NO_FAILURE: failure for failure in Failure}
    if text.strip().lower() not in names:
        raise DataError(f"--class: got {text!r}{expected_one_of(text, names)}")
    return names[text.strip().lower()]


def select(
    sweep: LoadedSweep,
    cells: Sequence[CellResult],
    metric: SubsetMetric,
    failures: Sequence[Failure],
    only: Failure | None,
    n_shown: int,
) -> Selection:
    """Return the worst samples of the first cell by the metric.

    With a second cell, these are the samples on which the first cell loses most. `failures` are the classes of
    all samples of the first cell, and `only` selects one of them. Raises DataError if there is no such sample.
    """
    if is_corpus_metric(sweep.folder_of(cells[0]), metric.metric):
        raise DataError(
            f"{metric.metric}: is computed over all samples together, not for each. Use another metric, such as "
            f"{', '.join(sweep.headlines()[:3])}"
        )
    labels = distinguishing_labels(cells)
    scored = [_read_cell_scores(sweep, cell, metric, labels) for cell in cells]
    common = [key for key in scored[0].rows if all(key in samples.rows for samples in scored)]
    if not common:
        raise DataError(f"{', '.join(cell.cell_id for cell in cells)}: no sample of {metric} in common")
    keys = [key for key in common if only is None or failures[scored[0].rows[key]] is only]
    if not keys:
        counts = Counter(failures[scored[0].rows[key]].value or NO_FAILURE for key in common)
        listed = ", ".join(f"{name} ({n})" for name, n in counts.most_common())
        raise DataError(
            f"--class: got '{only}', a class without samples in {cells[0].cell_id}, expected one of {listed}"
        )
    values = {key: [_value(samples, key) for samples in scored] for key in keys}
    sign = 1 if metric.direction() else -1
    valued = sorted((key for key in keys if None not in values[key]), key=lambda key: sign * _sort_value(values[key]))
    unvalued = [key for key in keys if None in values[key]]
    shown_keys = [*valued, *unvalued][:n_shown]
    return Selection(
        shown_keys,
        [tuple(samples.rows[key] for samples in scored) for key in shown_keys],
        len(keys),
        Counter(_exclusion_reason(scored, key) for key in unvalued),
        len(cells) == 1 and len(valued) > 1 and len({_sort_value(values[key]) for key in valued}) == 1,
    )


def _read_cell_scores(sweep: LoadedSweep, cell: CellResult, metric: SubsetMetric, labels: Labels) -> ScoredSamples:
    with_history = is_turn_subset(metric.subset)
    folder = sweep.folder_of(cell)
    scored = read_scored(cell, folder, metric.metric, is_corpus=False, with_history=with_history, labels=labels)
    return scored.in_subset(metric.subset)


def _value(scored: ScoredSamples, key: SampleKey) -> float | None:
    row = scored.rows[key]
    return float(scored.statistics[row][0]) if scored.states[row] == ScoreState.VALUE else None


def _sort_value(values: Sequence[float | None]) -> float:
    first, *others = (value or 0.0 for value in values)
    return first - sum(others)


def _exclusion_reason(scored: Sequence[ScoredSamples], key: SampleKey) -> str:
    states = (str(samples.states[samples.rows[key]]) for samples in scored)
    return next(state for state in states if state != ScoreState.VALUE)
