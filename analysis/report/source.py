"""What the sections of a report are made from: a sweep, the metrics it is looked at by, and the tests between cells."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from analysis import comparison
from analysis.comparison import Family
from analysis.decision import ScenarioScores
from analysis.forensics import verdicts
from analysis.report.classes import class_of
from analysis.report.naming import CellNames
from components.errors import DataError
from components.statistics import PairedTest
from components.subsets import OVERALL
from runner import results
from runner.results import MANY_CELLS, OK, CellResult, LoadedSweep, SubsetMetric, SweepResult, headlines, paired_test

if TYPE_CHECKING:
    import pandas as pd

_N_METRICS = 5
MANY_LEVELS = 30
"""Of an axis with more, pairs of values are not compared."""


@dataclass(frozen=True)
class ComparedCells:
    """The cells by a metric: a family of tests, or why there is none."""

    metric: SubsetMetric
    family: Family | None = None
    why_not: str = ""


@dataclass(frozen=True)
class ReportSource:
    """A sweep and how the report looks at it. `metrics` begin with the one that the report is about; there is none
    where no cell has a value of any.
    """

    sweep: LoadedSweep
    described: SweepResult
    metrics: tuple[SubsetMetric, ...]
    alpha: float = 0.05
    _verdicts: "dict[str, pd.DataFrame]" = field(default_factory=dict, repr=False)

    @property
    def test(self) -> PairedTest:
        """That of `python -m analysis compare`, with fewer resamples for very many cells."""
        return paired_test(len(self.sweep.cells), self.alpha)

    @property
    def has_many_cells(self) -> bool:
        """More than can be compared by every metric."""
        return len(self.sweep.cells) > MANY_CELLS

    @cached_property
    def crowded_axes(self) -> list[str]:
        """Axes with more values than can be compared."""
        levels = {axis: {cell.axes.get(axis) for cell in self.sweep.cells} for axis in self.names.axes}
        return [axis for axis, values in levels.items() if len(values) > MANY_LEVELS]

    @cached_property
    def names(self) -> CellNames:
        """What the cells are called."""
        return CellNames(self.sweep.cells)

    @cached_property
    def compared(self) -> tuple[ComparedCells, ...]:
        """The cells by each of the metrics."""
        return tuple(self._compare(metric) for metric in self.metrics)

    @cached_property
    def scores(self) -> ScenarioScores | None:
        """What the main metric made of all samples, by scenario; None where no two cells, or too many values of an
        axis, can be compared.
        """
        main = self.main
        return ScenarioScores.read(self.sweep, main.metric) if main and main.family and not self.crowded_axes else None

    @cached_property
    def ordered(self) -> list[CellResult]:
        """The cells with a value of the main metric, the best first; those with equal values stay together."""
        main = self.main
        if main is None:
            return []
        if main.family is None:
            return self.sweep.ranked(f"{main.metric.subset}:{main.metric.metric}")
        return [cell for standing in main.family.by_means() for cell in standing.cells]

    def verdicts(self, cell: CellResult) -> "pd.DataFrame":
        """Return why each sample of a cell failed: the frame of `analysis.forensics.verdict_table`, with its `class`
        (`classes`) and the `cell_id`. Raises DataError for a cell that an earlier version wrote.
        """
        if cell.cell_id not in self._verdicts:
            found = verdicts(self.sweep, cell)
            names = [class_of(*own) for own in zip(found["failure"], found["outcome"], found["stage"], strict=True)]
            self._verdicts[cell.cell_id] = found.assign(cell_id=cell.cell_id, **{"class": names})
        return self._verdicts[cell.cell_id]

    @property
    def main(self) -> ComparedCells | None:
        """By the metric that the report is about."""
        return self.compared[0] if self.compared else None

    def valued(self, metric: SubsetMetric) -> list[CellResult]:
        """Cells that did not fail and have a value."""
        return [cell for cell in self.sweep.cells if cell.status == OK and metric.value(cell) is not None]

    def _compare(self, metric: SubsetMetric) -> ComparedCells:
        if len(self.valued(metric)) < 2:
            return ComparedCells(metric, why_not="A comparison needs two cells with a value.")
        if self.has_many_cells and metric != self.metrics[0]:
            return ComparedCells(
                metric, why_not=f"With more than {MANY_CELLS} cells only {self.metrics[0]} is tested here."
            )
        try:
            return ComparedCells(metric, comparison.compare_cells(self.sweep, metric, self.test, alpha=self.alpha))
        except DataError as error:  # cells without a common sample, say: the page says so in the table's place
            return ComparedCells(metric, why_not=str(error))


def open_source(text: str, metric: str = "") -> ReportSource:
    """A sweep's folder or id, and the "[subset:]metric" that the report is about; by default the one that ranks the
    sweep. Raises DataError for a sweep that is not there, and for a metric that no cell has or that ranks nothing.
    """
    sweep = results.load(text)
    described = results.read_sweep(sweep.folder)
    return ReportSource(sweep, described, tuple(_metrics(sweep, metric, described.headline)))


def _metrics(sweep: LoadedSweep, wanted: str, headline: str) -> list[SubsetMetric]:
    """The wanted metric, or else the headline one, and further headline metrics that rank cells, of the same subset."""
    first = [sweep.metric(wanted)] if wanted else []
    for metric in first:
        metric.direction()
    subset = first[0].subset if first else OVERALL
    there = {name for cell in sweep.cells for name in cell.metrics.get(subset, {})}
    names = [name for name in headlines(sweep.cells, headline) if name in there]
    found = [*first, *(sweep.metric(f"{subset}:{name}") for name in names)]
    ranking = [metric for metric in found if metric.larger_is_better is not None]
    return list(dict.fromkeys(ranking))[:_N_METRICS]
