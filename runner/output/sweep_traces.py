"""The traces of a sweep: the same samples of the cells that one wants to compare, and where MLflow shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.output.mlflow_traces import TraceLog, trace_id
from runner.output.traces.trace_reading import CellTraces
from runner.output.traces.traced_samples import chosen_samples
from runner.results import CellResult
from runner.results.loaded_sweep import load


@dataclass(frozen=True)
class TracedSweep:
    """How many samples of how many cells have traces, and how many traces of them all are new. `lacking` says what
    could not be told of some, and why; "" where nothing lacks.
    """

    n_samples: int
    n_cells: int
    n_new: int
    lacking: str

    def __str__(self) -> str:
        new = f"{self.n_new} new" if self.n_new else "all there already"
        lacking = f"; not all could be told: {self.lacking}" if self.lacking else ""
        return f"{self.n_samples} sample(s) in each of {self.n_cells} cell(s), {new}{lacking}"


def log_traces(
    log: TraceLog,
    sweep_dir: Path,
    cells: Sequence[CellResult],
    run_ids: Sequence[str],
    metrics: Sequence[str],
    n: int | None,
) -> TracedSweep:
    """Traces of `n` samples (None: all) of each of the cells, the best first, to their runs; those that are there are
    not logged again. `metrics` are those by which samples are chosen, see `chosen_samples`.

    Raises DataError if samples cannot be read, and whatever MLflow raises.
    """
    if not cells:
        return TracedSweep(0, 0, 0, "")
    ids = chosen_samples(cells, sweep_dir, metrics, n)
    sweep = load(sweep_dir)
    lacking, n_new = "", 0
    for cell, run_id in zip(cells, run_ids, strict=True):
        there = log.there(run_id)
        new = [an_id for an_id in ids if trace_id(run_id, an_id) not in there]
        if new:
            traces = CellTraces(sweep, sweep.cell(cell.cell_id), new)
            log.write(run_id, traces)
            n_new += len(new)
            lacking = lacking or traces.lacking
    return TracedSweep(len(ids), len(cells), n_new, lacking)
