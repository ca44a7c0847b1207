"""The plan's lines about the headline metric: whether it sees what the sweep varies, the smallest difference that its
samples can show, and how many samples a small difference needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from components.clusters import Groups, clusters_of
from components.records import Sample
from components.statistics import POWER, assumed_precision
from runner.console.display import about
from runner.engine.store import Store
from runner.output.earlier import Earlier, earlier_sweep
from runner.output.planned_metric import PlannedMetric, PlannedMetrics
from runner.output.tied_samples import tied_line
from runner.output.unseen_axes import unseen_line
from runner.pipeline.planned import PlannedCell
from runner.results.leaderboard_order import HEADLINES
from runner.results.sample_groups import too_few_groups

SMALL_DIFFERENCE = 0.02
"""The line says how many samples show it: papers often report gains of this size."""

_DEVIATION = 0.25
_CORRELATION = 0.1
"""Assumed of the differences between two cells. Those of the bundled data have a standard deviation of .06 to .16 for
ROUGE-L and NDCG, of .24 to .39 for passage coverage, and correlate by 0 to .3 within groups of samples.
"""


def detectable_lines(cells: Sequence[PlannedCell], headline: str, results_dir: Path, store: Store) -> Iterator[str]:
    """Lines about the metric that ranks the cells, for each data set over which at least two can differ. Raises
    ComponentError if a metric of another package fails in its trial (see `scorable`).
    """
    by_data: dict[tuple[str, Groups], list[PlannedCell]] = {}
    for cell in cells:
        by_data.setdefault((cell.graph.data.key, cell.graph.result.groups), []).append(cell)
    for own in by_data.values():
        if len(own) > 1:
            yield from _lines(own, headline, results_dir, store)


def _lines(cells: Sequence[PlannedCell], headline: str, results_dir: Path, store: Store) -> Iterator[str]:
    data, groups = cells[0].graph.data, cells[0].graph.result.groups
    metrics = PlannedMetrics(cells, data, store)
    if headline in metrics.by_name and not len((unscored := metrics.planned(headline)).rows):
        why = f": {_reasons(unscored.left_out)}" if unscored.left_out else ""
        yield f"{headline} will have no value{why}."
    found = metrics.first([headline, *HEADLINES, *metrics.by_name])
    if found is None:
        return
    if line := unseen_line(found, metrics):
        yield line
    if found.n_different > 1:
        earlier = earlier_sweep(results_dir, data.key, groups, found.name, {cell.cell_id for cell in cells})
        yield _line(found, metrics.samples, groups, earlier, results_dir)
    if line := tied_line(metrics.samples, found.rows, groups):
        yield line


def _line(
    found: PlannedMetric, samples: Sequence[Sample], groups: Groups, earlier: Earlier | None, results_dir: Path
) -> str:
    is_share = getattr(found.metric, "is_share", True)
    if earlier is None and not is_share:
        return f"{found.name}: the smallest detectable difference will be known after a first sweep of this data."
    clusters = clusters_of(samples, groups)[found.rows]
    n_groups = len(np.unique(clusters))
    precision = (
        earlier.precision if earlier else assumed_precision(clusters, deviation=_DEVIATION, correlation=_CORRELATION)
    )
    sizes = precision.detectable(found.n_different)
    if not all(map(isfinite, sizes)):
        return f"{found.name}: {too_few_groups(n_groups)}."
    n_wanted = [len(found.rows) * times for times in precision.times_as_many(SMALL_DIFFERENCE, found.n_different)]
    chosen = "" if groups is Groups.DOCUMENT else f" (dataset.groups={groups})"
    wanted = f"; {SMALL_DIFFERENCE} needs about {_span(n_wanted)} such samples" if is_share else ""
    spread = "measured" if earlier else "assumed"
    cells = f"any two of {found.n_different} cells, {POWER:.0%} power, {spread} spread"
    return (
        f"{found.name}: with {_counted(found, len(samples))} in {n_groups:,} groups{chosen}, the smallest "
        f"detectable difference is about {_span(sizes)} ({cells}){wanted}. "
        f"{_source(found.name, earlier, results_dir)}"
    )


def _counted(found: PlannedMetric, n_samples: int) -> str:
    """E.g. "300 of 1,109 samples (left out: 809 no_gold)"."""
    at_most = "at most " if found.waits else ""
    if len(found.rows) == n_samples:
        return f"{at_most}{n_samples:,} samples"
    return f"{at_most}{len(found.rows):,} of {n_samples:,} samples (left out: {_reasons(found.left_out)})"


def _reasons(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {reason}" for reason, n in sorted(left_out.items()))


def _source(name: str, earlier: Earlier | None, results_dir: Path) -> str:
    if earlier:
        return f"As measured in {earlier.folder}."
    return (
        f"Assumed, as there is no sweep in {results_dir}/ in which cells differ in {name} on this data: differences "
        f"with a standard deviation of {_DEVIATION}, correlated by {_CORRELATION} within each group of samples."
    )


def _span(numbers: Sequence[float]) -> str:
    """To two digits: "0.02 to 0.03", or "3,200"."""
    low, high = about(min(numbers)), about(max(numbers))
    return low if low == high else f"{low} to {high}"
