"""A sweep for notebooks: its cells, metrics and samples as frames."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """What `analysis.load` returns: the results of one sweep, or of several as one, as pandas frames.

    `cells` and `metrics` are frames, `samples`, `failures`, `compare` and `matrix` return one. Rows about a cell begin
    with `cell_id` (string) and the axes that tell the cells of the sweep apart, by their names (`chunk.size`): Int64,
    Float64, boolean or string, <NA> where a cell does not use the axis. Topics and tasks stand with their labels.
    A metric is written "[subset:]metric", a cell as on the command line.

    `results` has the same as records: what `cell.json` holds, and where the files lie.
    """

    results: LoadedSweep

    def __repr__(self) -> str:
        return repr(self.results).replace(type(self.results).__name__, type(self).__name__, 1)

    @cached_property
    def cells(self) -> "pd.DataFrame":
        """A row per cell in the order of the leaderboard, failed ones last.

        - `cell_id`, `name` (what tells it from the others), `status` ("OK" or "FAILED"), `reason`: string
        - the axes that vary
        - of every metric of the leaderboard, over all samples: `<metric>`, `<metric> low` and `<metric> high` (float64;
          the 95 % interval, NaN without one) and `<metric> n` (Int64, samples with a value)
        - `n_samples`, `n_failed` (Int64): answers asked for, and those that failed
        - `prompt_tokens`, `completion_tokens` (Int64): of the answers, as the provider counts them, <NA> if it did not
        - `cost` (float64, NaN if not known), `currency` (string): of all requests, those of judges among them
        - `latency_p50_s`, `latency_p95_s` (float64): seconds per question; `one_time_s`: seconds that the corpus takes
          once
        """
        return cells_frame(self.results)

    @cached_property
    def metrics(self) -> "pd.DataFrame":
        """A row per cell, subset and metric, in the order of the sweep.

        - `cell_id`, the axes that vary
        - `subset` (string): "overall", "macro", "read/qa_1doc", "topic/...", "task/...", "matrix/<topic>/<task>"; with
          `topic` and `task` (string), the labels of the last three, <NA> for others
        - `metric` (string)
        - `value`, `ci_low`, `ci_high` (float64, NaN where there is none)
        - `n`, `n_excluded`, `n_clusters` (Int64): samples with a value, samples without one, groups of samples
        - `larger_is_better` (boolean, <NA> where neither is)
        """
        return metrics_frame(self.results)

    def samples(self, columns: Sequence[str] | None = None, cells: CellNames = None) -> "pd.DataFrame":
        """A row per sample and cell: `cell_id`, the axes that vary, `id`, and these columns of `samples.parquet`; only
        they are read. By default question, references, answer, its state, and the scores of the leaderboard's metrics.

        Columns have the names of the file, such as "score/rouge_l", "prompt" or "retrieved" (docs/results.md): float64,
        Int64, boolean or string, and lists as arrays. An axis with the name of such a column is "axis/<name>": with
        prompts as an axis, "prompt" is the text and "axis/prompt" the option. A cell that lacks a column which
        another one has (a judge's, say) has <NA> in it. Raises DataError for a column that no cell has.
        """
        return samples_frame(self.results, self._cells(cells), columns)

    def failures(self, cells: CellNames = None) -> "pd.DataFrame":
        """A row per sample and cell that failed: `cell_id`, the axes that vary, `id`, `subset`, `topic`, `task`,
        `question`; `state`, `error_class` and `error` of the answer (string); and why it failed, by rules and without a
        model: `failure`, the class, `stage`, how far the evidence came, `outcome`, what became of the answer (string),
        `is_uncertain` (boolean), `doubts` (string), and `rank_needed` (Int64), the rank down to which the hits hold the
        evidence.

        Cells that failed as a whole are in `cells`, with their `reason`.
        """
        return failures_frame(self.results, self._cells(cells))

    def compare(self, metric: str = "", *, baseline: str = BEST, alpha: float = 0.05) -> "pd.DataFrame":
        """What `python -m analysis compare` shows, by default of the metric of the leaderboard: a row per cell, the
        baseline first, then the best.

        - `cell_id`, the axes that vary, `verdict` (string): "best", "may be the best" or "worse"; against a
          baseline "baseline", "better", "worse" or "undecided"
        - `mean` (float64) over the `n` samples (Int64) that all cells have, in `n_clusters` groups
        - `difference` from the baseline with `ci_low` and `ci_high`, the interval of this one comparison (float64)
        - `p_adjusted`, corrected for the number of cells, and `detectable_difference`, what this many samples would
          show (float64)
        - `own_mean` (float64) over the cell's own `n_own` samples (Int64), and `n_left_out` (string), why it lacks the
          others

        Raises DataError with fewer than two cells to compare, and for a metric that ranks nothing.
        """
        return comparison_frame(self.results, metric, baseline, alpha)

    def matrix(self, metric: str = "", cell: str | CellResult = BEST, *, field: str = "value") -> "pd.DataFrame":
        """Topic x task of one cell, float64, by default of the metric of the leaderboard: topics are rows, tasks are
        columns, by their labels; "All" are the means over the samples of a row or column. NaN where there is none.

        `field` is one of `metrics`, or `pooled`, `pooled_low`, `pooled_high`: values drawn towards their row and
        column, the more the fewer samples they are from.

        Raises DataError if the data have no topics and tasks.
        """
        return matrix_frame(self.results, self._cell(cell), metric, field)

    @property
    def axes(self) -> list[str]:
        """Names of those that tell the cells apart."""
        return self.results.axes()

    @property
    def folder(self) -> Path:
        """That of the sweep; of the first one of several."""
        return self.results.folder

    @property
    def failed(self) -> tuple[CellResult, ...]:
        """Cells that ended with a failure; each has its `reason`."""
        return self.results.failed

    def cell(self, text: str) -> CellResult:
        """As `LoadedSweep.cell`."""
        return self.results.cell(text)

    def metric(self, text: str) -> SubsetMetric:
        """As `LoadedSweep.metric`."""
        return self.results.metric(text)

    def ranked(self, metric: str = "") -> list[CellResult]:
        """As `LoadedSweep.ranked`."""
        return self.results.ranked(metric)

    def best(self, metric: str = "") -> CellResult:
        """As `LoadedSweep.best`."""
        return self.results.best(metric)

    def table(self, *metrics: str) -> list[dict[str, Any]]:
        """As `LoadedSweep.table`."""
        return self.results.table(*metrics)

    def _cells(self, names: CellNames) -> list[CellResult]:
        if names is None:
            return list(self.results.cells)
        if isinstance(names, str | CellResult):
            names = [names]
        return list({cell.cell_id: cell for cell in map(self._cell, names)}.values())

    def _cell(self, name: str | CellResult) -> CellResult:
        return name if isinstance(name, CellResult) else self.results.cell(name)
