"""The plan's lines about the headline metric.

They say which axes of the sweep it does not see, and the smallest difference that its samples can detect. They also say
how many samples a small difference needs, and whether most samples form one group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.clusters import Groups, largest_group, number_clusters
from components.records import Sample
from components.statistics import POWER, assumed_precision
from components.statistics.grouped_mean import n_effective
from runner.console.display import significant_digits
from runner.console.excluded_samples import excluded_texts
from runner.engine.store import Store
from runner.output.earlier_sweeps import EarlierSweep, earlier_sweep
from runner.output.planned_metric import PlannedMetric, PlannedMetrics
from runner.pipeline.planned_cells import PlannedCell
from runner.results.leaderboard_order import HEADLINES
from runner.results.sample_groups import too_few_groups

SMALL_DIFFERENCE = 0.02
"""A line says how many samples detect it: papers often report gains of this size."""

_DEVIATION = 0.25
_CORRELATION = 0.1
"""Assumptions about the differences between two cells.

In the bundled data, differences have a standard deviation of .06 to .16 for ROUGE-L and NDCG, and of .24 to .39 for
passage coverage. They correlate by 0 to .3 within groups of samples.
"""

_FINER = {Groups.DOCUMENT: (Groups.SOURCE, Groups.NONE), Groups.SOURCE: (Groups.NONE,), Groups.NONE: ()}
_MAX_DOCUMENTS = 3


def headline_lines(cells: Sequence[PlannedCell], headline: str, results_dir: Path, store: Store) -> Iterator[str]:
    """Yield lines about the metric that ranks the cells, for each data set with at least two cells.

    Raises ComponentError if a metric of another package fails in its trial (see `scorable_samples`).
    """
    counts = Counter(line for each in _compared(cells) for line in _lines(each, headline, results_dir, store))
    for line, n in counts.items():
        # Each parser makes a separate data set, and the cells of all have one line.
        yield line if n == 1 else f"{line} (the same within each of {n:,} data sets, such as those of several parsers)"


def tied_lines(cells: Sequence[PlannedCell], headline: str, store: Store) -> Iterator[str]:
    """Yield a line for each data set in which most samples form one group: no difference may then be significant.

    Raises ComponentError as `headline_lines` does.
    """
    for same_data in _compared(cells):
        metrics = PlannedMetrics(same_data, same_data[0].graph.data, store)
        metric = _ranking_metric(metrics, headline)
        if metric and (line := tied_line(metrics.samples, metric.rows, same_data[0].graph.result.groups)):
            yield line


def _ranking_metric(metrics: PlannedMetrics, headline: str) -> PlannedMetric | None:
    return metrics.first([headline, *HEADLINES, *metrics.by_name])


def _compared(cells: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    """Return the cells of each data set with at least two cells."""
    by_data: dict[tuple[str, Groups], list[PlannedCell]] = {}
    for cell in cells:
        by_data.setdefault((cell.graph.data.key, cell.graph.result.groups), []).append(cell)
    return [each for each in by_data.values() if len(each) > 1]


def _lines(cells: Sequence[PlannedCell], headline: str, results_dir: Path, store: Store) -> Iterator[str]:
    data, groups = cells[0].graph.data, cells[0].graph.result.groups
    metrics = PlannedMetrics(cells, data, store)
    if headline in metrics.by_name and not len((unscored := metrics.plan_metric(headline)).rows):
        why = f": {_reasons(unscored.left_out)}" if unscored.left_out else ""
        yield f"{headline} will have no value{why}."
    metric = _ranking_metric(metrics, headline)
    if metric is None:
        return
    if line := _unseen_line(metric, metrics):
        yield line
    if metric.n_different > 1:
        earlier = earlier_sweep(results_dir, data.key, groups, metric.name, {cell.cell_id for cell in cells})
        yield _detectable_line(metric, metrics.samples, groups, earlier, results_dir)
    if line := tied_line(metrics.samples, metric.rows, groups):
        yield line


def _unseen_line(metric: PlannedMetric, metrics: PlannedMetrics) -> str:
    """Return a line if some axes change no value of the metric, as top_k changes no ranking; else "".

    It names a metric that distinguishes more of the cells, if one is computed.
    """
    n_cells, n_different = len(metric.cells), metric.n_different
    if not (unseen := metric.unseen_axes()):
        return ""
    equal = (
        f"{'both' if n_cells == 2 else f'all {n_cells:,}'} cells will have equal values"
        if n_different == 1
        else f"the {n_cells:,} cells have at most {n_different:,} different values of it"
    )
    better = metrics.find_more_sensitive(metric, HEADLINES)
    hint = f". run.headline={better.name} can distinguish more of them" if better else ""
    return f"{metric.name} does not depend on {' or '.join(unseen)}: {equal}{hint}."


def _detectable_line(
    metric: PlannedMetric, samples: Sequence[Sample], groups: Groups, earlier: EarlierSweep | None, results_dir: Path
) -> str:
    is_share = getattr(metric.metric, "is_share", True)
    if earlier is None and not is_share:
        return f"{metric.name}: the smallest detectable difference will be known after the first sweep of this data."
    clusters = number_clusters(samples, groups)[metric.rows]
    n_groups = len(np.unique(clusters))
    precision = (
        earlier.precision if earlier else assumed_precision(clusters, deviation=_DEVIATION, correlation=_CORRELATION)
    )
    sizes = precision.detectable(metric.n_different)
    if not all(map(isfinite, sizes)):
        return f"{metric.name}: {too_few_groups(n_groups, n_effective(clusters))}."
    n_needed = [len(metric.rows) * times for times in precision.times_as_many(SMALL_DIFFERENCE, metric.n_different)]
    chosen = "" if groups is Groups.DOCUMENT else f" (dataset.groups={groups})"
    needed = f"; {SMALL_DIFFERENCE} needs about {_span(n_needed)} such samples" if is_share else ""
    spread = "measured" if earlier else "assumed"
    of_cells = "2 cells" if metric.n_different == 2 else f"any two of {metric.n_different} cells"
    cells = f"{of_cells}, {POWER:.0%} power, {spread} spread"
    return (
        f"{metric.name}: with {_sample_count(metric, len(samples))} in {n_groups:,} groups{chosen}, the smallest "
        f"detectable difference is about {_span(sizes)} ({cells}){needed}. "
        f"{_source(metric.name, earlier, results_dir)}"
    )


def _sample_count(metric: PlannedMetric, n_samples: int) -> str:
    """Format the number of samples: "300 of 1,109 samples (809 without gold)"."""
    at_most = "at most " if metric.waits else ""
    if len(metric.rows) == n_samples:
        return f"{at_most}{n_samples:,} samples"
    return f"{at_most}{len(metric.rows):,} of {n_samples:,} samples ({_reasons(metric.left_out)})"


def _reasons(left_out: Mapping[str, int]) -> str:
    return ", ".join(excluded_texts(dict(sorted(left_out.items()))))


def _source(name: str, earlier: EarlierSweep | None, results_dir: Path) -> str:
    if earlier:
        return f"As measured in {earlier.folder}."
    return (
        f"Assumed, as there is no sweep in {results_dir}/ in which cells differ in {name} on this data: differences "
        f"with a standard deviation of {_DEVIATION}, correlated by {_CORRELATION} within each group of samples."
    )


def _span(numbers: Sequence[float]) -> str:
    """Format the range of numbers to two significant digits: "0.02 to 0.03", or "3,200"."""
    low, high = significant_digits(min(numbers)), significant_digits(max(numbers))
    return low if low == high else f"{low} to {high}"


def tied_line(samples: Sequence[Sample], rows: NDArray[np.intp], groups: Groups) -> str:
    """Return a line if the largest group has more than half of the samples in `rows`, else "".

    `samples` are all samples of the data set, because others can tie these together.
    """
    counted = [samples[row] for row in rows.tolist()]
    clusters = number_clusters(samples, groups)[rows]
    largest = largest_group(counted, clusters, groups)
    if largest.n_samples < 2 or 2 * largest.n_samples <= len(counted):
        return ""
    is_all = largest.n_samples == len(counted)
    which = f"All {len(counted):,} samples" if is_all else f"{largest.n_samples:,} of {len(counted):,} samples"
    finer = [
        f"dataset.groups={name} makes {len(np.unique(number_clusters(samples, name)[rows])):,}"
        for name in _FINER[groups]
    ]
    n_groups = len(np.unique(clusters))
    rest = "" if is_all else f" The others form {n_groups - 1:,} more."
    return (
        f"{which} form one group: {_ties(largest.shared_documents)}.{rest} {' groups, '.join(finer)} groups; "
        "docs/metrics.md says what each assumes."
    )


def _ties(shared: dict[str, int]) -> str:
    """Describe the ties: "40 gold documents tie them together, most of all a (120 samples), b (98 samples)"."""
    if not shared:
        return "turns of one conversation"
    documents = [f"{name} ({n:,} samples)" for name, n in list(shared.items())[:_MAX_DOCUMENTS]]
    if len(shared) == 1:
        return f"they share the gold document {documents[0]}"
    return f"{len(shared):,} gold documents tie them together, most of all {', '.join(documents)}"
