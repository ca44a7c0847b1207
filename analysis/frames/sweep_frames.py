"""A sweep for notebooks: its cells, metrics and samples as frames."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.frames.cells_frame import cells_frame
from analysis.frames.comparison_frame import comparison_frame
from analysis.frames.failures_frame import failures_frame
from analysis.frames.matrix_frame import matrix_frame
from analysis.frames.metrics_frame import metrics_frame
from analysis.frames.samples_frame import samples_frame
from runner.results import BEST, CellResult, LoadedSweep, SubsetMetric

if TYPE_CHECKING:
    import pandas as pd

CellNames = str | CellResult | Iterable[str | CellResult] | None
"""Ids, axis values such as "retriever=bm25,top_k=2", "best", "best:METRIC", or cells; None for all of the sweep."""


@dataclass(frozen=True, repr=False)
class Sweep:
    """Results of one sweep, or of several joined to one, as pandas frames. `analysis.load` returns it.

    `cells` and `metrics` are frames; `samples`, `failures`, `compare` and `matrix` return one. Rows about a cell begin
    with `cell_id` (string) and the axes that distinguish the cells of the sweep, by their names (`chunk.size`). Axes
    are Int64, Float64, boolean or string, and <NA> if a cell does not use the axis. Topics and tasks have their labels.
    A metric is written "[subset:]metric", a cell as on the command line.

    `results` has the same results as records: the content of `cell.json`, and the locations of the files.
    """

    results: LoadedSweep

    def __repr__(self) -> str:
        return repr(self.results).replace(type(self.results).__name__, type(self).__name__, 1)

    @cached_property
    def cells(self) -> "pd.DataFrame":
        """A row per cell in the order of the leaderboard, failed cells last.

        - `cell_id`, `name` (the values that distinguish the cell), `reason`: string
        - `status`: "OK", "FAILED", or "STOPPED" for a cell that a race or the user stopped
        - the axes that vary
        - for every metric of the leaderboard, over all samples: `<metric>`, `<metric> low` and `<metric> high`
          (float64; the 95% interval, NaN if it is unknown) and `<metric> n` (Int64, samples with a value)
        - `n_samples`, `n_failed` (Int64): requested answers, and answers that failed
        - `prompt_tokens`, `completion_tokens` (Int64): tokens of the answers as counted by the provider, <NA> if it did
          not
        - `cost` (float64, NaN if unknown), `currency` (string): cost of all requests, including requests of judges
        - `latency_p50_s`, `latency_p95_s` (float64): seconds per question; `one_time_s`: seconds spent once on the
          corpus
        """
        return cells_frame(self.results)

    @cached_property
    def metrics(self) -> "pd.DataFrame":
        """A row per cell, subset and metric, in the order of the sweep.

        - `cell_id`, the axes that vary
        - `subset` (string): "overall", "macro", "read/qa_1doc", "topic/...", "task/...", "matrix/<topic>/<task>"; with
          `topic` and `task` (string), the labels for the last three, <NA> for others
        - `metric` (string)
        - `value`, `ci_low`, `ci_high` (float64, NaN if the interval is unknown)
        - `n`, `n_excluded`, `n_clusters` (Int64): samples with a value, excluded samples, groups of samples
        - `larger_is_better` (boolean, <NA> if neither is)
        """
        return metrics_frame(self.results)

    def samples(self, columns: Sequence[str] | None = None, cells: CellNames = None) -> "pd.DataFrame":
        """Return a row per sample and cell: `cell_id`, the axes that vary, `id`, and `columns` of `samples.parquet`.

        Only these columns are read. The default is question, references, answer, its state, and the scores of the
        leaderboard's metrics. Columns have the names of the file, such as "score/rouge_l", "prompt" or "retrieved"
        (docs/results.md). They are float64, Int64, boolean or string, and lists are arrays. An axis with the name of a
        column is "axis/<name>": with prompts as an axis, "prompt" is the text and "axis/prompt" the option. A cell
        without a column of another cell, such as a judge's, has <NA> in it. Raises DataError for a column that no cell
        has.
        """
        return samples_frame(self.results, self._cells(cells), columns)

    def failures(self, cells: CellNames = None) -> "pd.DataFrame":
        """Return a row per sample and cell with a failure.

        - `cell_id`, the axes that vary, `id`, `subset`, `topic`, `task`, `question`
        - `state`, `error_class` and `error` of the answer (string)
        - the cause, found by rules without a model: `failure`, the class; `stage`, how far the evidence came; `outcome`
          of the answer (string); `is_uncertain` (boolean) and `doubts` (string)
        - `rank_needed` (Int64): the rank down to which the hits contain the evidence

        Cells that failed as a whole are in `cells`, with their `reason`.
        """
        return failures_frame(self.results, self._cells(cells))

    def compare(self, metric: str = "", *, baseline: str = BEST, alpha: float = 0.05) -> "pd.DataFrame":
        """Return the results of `python -m analysis compare`: a row per cell, the baseline first, then the best.

        - `cell_id`, the axes that vary, `verdict` (string): "best", "may be the best" or "worse"; against a baseline
          "baseline", "better", "worse" or "undecided"
        - `mean` (float64) over the `n` samples (Int64) that all cells have, in `n_clusters` groups
        - `difference` from the baseline with `ci_low` and `ci_high`, the interval of this single comparison (float64)
        - `p_adjusted`, corrected for the number of cells, and `detectable_difference`, the smallest difference that
          this many samples detect reliably (float64)
        - `own_mean` (float64) over the cell's `n_own` samples (Int64), and `n_left_out` (string), the reasons for other
          samples

        The default metric is the metric of the leaderboard. Raises DataError with fewer than two cells to compare, and
        for a metric that ranks nothing.
        """
        return comparison_frame(self.results, metric, baseline, alpha)

    def matrix(self, metric: str = "", cell: str | CellResult = BEST, *, field: str = "value") -> "pd.DataFrame":
        """Return topic x task of one cell, float64, by default for the metric of the leaderboard.

        Topics are rows and tasks are columns, by their labels. "All" is the mean over the samples of a row or column.
        NaN marks an empty field. `field` is a column of `metrics`, or `pooled`, `pooled_low`, `pooled_high`: values
        shrunk towards their row and column, more strongly for fields with few samples.

        Raises DataError if the data have no topics and tasks.
        """
        return matrix_frame(self.results, self._cell(cell), metric, field)

    @property
    def axes(self) -> list[str]:
        """Names of the axes that distinguish the cells."""
        return self.results.axes()

    @property
    def folder(self) -> Path:
        """The folder of the sweep; of the first one of several."""
        return self.results.folder

    @property
    def failed(self) -> tuple[CellResult, ...]:
        """Cells that failed as a whole; each has its `reason`."""
        return self.results.failed

    def cell(self, text: str) -> CellResult:
        """Return a cell by name; see `LoadedSweep.cell`."""
        return self.results.cell(text)

    def metric(self, text: str) -> SubsetMetric:
        """Return a metric by name; see `LoadedSweep.metric`."""
        return self.results.metric(text)

    def rank_cells(self, metric: str = "") -> list[CellResult]:
        """Return the cells by rank; see `LoadedSweep.rank_cells`."""
        return self.results.rank_cells(metric)

    def best(self, metric: str = "") -> CellResult:
        """Return the best cell; see `LoadedSweep.best`."""
        return self.results.best(metric)

    def table(self, *metrics: str) -> list[dict[str, object]]:
        """Return the cells as rows; see `LoadedSweep.table`."""
        return self.results.table(*metrics)

    def _cells(self, names: CellNames) -> list[CellResult]:
        if names is None:
            return list(self.results.cells)
        if isinstance(names, str | CellResult):
            names = [names]
        return list({cell.cell_id: cell for cell in map(self._cell, names)}.values())

    def _cell(self, name: str | CellResult) -> CellResult:
        return name if isinstance(name, CellResult) else self.results.cell(name)
