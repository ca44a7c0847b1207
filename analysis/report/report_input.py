"""Input of the report's sections: a sweep, its metrics, and the tests between cells."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from analysis import comparison
from analysis.comparison_family import Family
from analysis.decision import ScenarioScores
from analysis.forensics import verdicts
from analysis.report.cell_names import CellNames
from analysis.report.sample_classes import name_class
from components.errors import DataError
from components.statistics import PairedTest
from components.subsets import OVERALL
from runner import results
from runner.results import (
    MANY_CELLS,
    NO_BEST,
    OK,
    CellResult,
    LoadedSweep,
    SubsetMetric,
    SweepResult,
    headlines,
    paired_test,
)

if TYPE_CHECKING:
    import pandas as pd

_N_METRICS = 5
MANY_LEVELS = 30
"""With more values on an axis, pairs of them are not compared."""


@dataclass(frozen=True)
class ComparedCells:
    """The cells compared by one metric: a family of tests, or the reason why there is none."""

    metric: SubsetMetric
    family: Family | None = None
    why_not: str = ""


@dataclass(frozen=True)
class ReportSource:
    """A sweep and the settings of the report. `metrics` begin with the main metric; () if no cell has a value."""

    sweep: LoadedSweep
    described: SweepResult
    metrics: tuple[SubsetMetric, ...]
    alpha: float = 0.05
    _verdicts: "dict[str, pd.DataFrame]" = field(default_factory=dict, repr=False)

    @property
    def test(self) -> PairedTest:
        """The test of `python -m analysis compare`, with fewer resamples for very many cells."""
        return paired_test(len(self.sweep.cells), self.alpha)

    @property
    def has_many_cells(self) -> bool:
        """True if there are too many cells to compare them by every metric."""
        return len(self.sweep.cells) > MANY_CELLS

    @cached_property
    def crowded_axes(self) -> list[str]:
        """Axes with too many values to compare them."""
        levels = {axis: {cell.axes.get(axis) for cell in self.sweep.cells} for axis in self.names.axes}
        return [axis for axis, values in levels.items() if len(values) > MANY_LEVELS]

    @cached_property
    def names(self) -> CellNames:
        """Names of the cells for readers."""
        return CellNames(self.sweep.cells)

    @cached_property
    def compared(self) -> tuple[ComparedCells, ...]:
        """The cells compared by each of the metrics."""
        return tuple(self._compare(metric) for metric in self.metrics)

    @cached_property
    def scores(self) -> ScenarioScores | None:
        """Scores of the main metric by scenario; None if cells cannot be compared, or an axis has too many values."""
        main = self.main
        return ScenarioScores.read(self.sweep, main.metric) if main and main.family and not self.crowded_axes else None

    @cached_property
    def ordered(self) -> list[CellResult]:
        """The cells with a value of the main metric, the best first. Cells with equal values stay together."""
        main = self.main
        if main is None:
            return []
        if main.family is None:
            return self.sweep.rank_cells(f"{main.metric.subset}:{main.metric.metric}")
        return [cell for standing in main.family.standings_by_mean() for cell in standing.cells]

    def verdicts(self, cell: CellResult) -> "pd.DataFrame":
        """Return the causes of failure of a cell's samples.

        This is the frame of `analysis.forensics.verdict_tables`, with the sample's `class` (`classes`) and the
        `cell_id`. Raises DataError for a cell of an earlier version.
        """
        if cell.cell_id not in self._verdicts:
            frame = verdicts(self.sweep, cell)
            names = [name_class(*row) for row in zip(frame["failure"], frame["outcome"], frame["stage"], strict=True)]
            self._verdicts[cell.cell_id] = frame.assign(cell_id=cell.cell_id, **{"class": names})
        return self._verdicts[cell.cell_id]

    @property
    def main(self) -> ComparedCells | None:
        """The comparison by the main metric of the report, or None if the cells have no metric."""
        return self.compared[0] if self.compared else None

    def list_cells_with_value(self, metric: SubsetMetric) -> list[CellResult]:
        """Return the cells that did not fail, have a value, and are an option to choose."""
        valued = [cell for cell in self.sweep.cells if cell.status == OK and metric.value(cell) is not None]
        return results.without_bounds(valued)

    def _compare(self, metric: SubsetMetric) -> ComparedCells:
        if len(self.list_cells_with_value(metric)) < 2:
            return ComparedCells(metric, why_not="A comparison needs two cells with a value.")
        if self.has_many_cells and metric != self.metrics[0]:
            return ComparedCells(
                metric, why_not=f"With more than {MANY_CELLS} cells only {self.metrics[0]} is tested here."
            )
        if self.sweep.is_chosen_by_scores:
            return ComparedCells(metric, why_not=f"{NO_BEST}.")
        try:
            return ComparedCells(metric, comparison.compare_cells(self.sweep, metric, self.test, alpha=self.alpha))
        except DataError as error:  # if cells have no common sample, the page reports this instead of a table
            return ComparedCells(metric, why_not=str(error))


def open_source(text: str, metric: str = "") -> ReportSource:
    """Open a sweep by its folder or id, with the "[subset:]metric" that the report is about.

    By default this is the metric that ranks the sweep. Raises DataError for a missing sweep, and for a metric that no
    cell has or that ranks nothing.
    """
    sweep = results.load(text)
    described = results.read_sweep(sweep.folder)
    return ReportSource(sweep, described, tuple(_metrics(sweep, metric, described.headline)))


def _metrics(sweep: LoadedSweep, requested: str, headline: str) -> list[SubsetMetric]:
    """Return the requested metric or the headline metric, and further headline metrics that rank cells, of the same
    subset.
    """
    first = [sweep.metric(requested)] if requested else []
    for metric in first:
        metric.direction()
    subset = first[0].subset if first else OVERALL
    computed = {name for cell in sweep.cells for name in cell.metrics.get(subset, {})}
    names = [name for name in headlines(sweep.cells, headline) if name in computed]
    if sweep.lacks_quality and not requested:
        return []
    metrics = [*first, *(sweep.metric(f"{subset}:{name}") for name in names)]
    ranking = [metric for metric in metrics if metric.larger_is_better is not None]
    return list(dict.fromkeys(ranking))[:_N_METRICS]
