"""The traces of a sweep: the same samples of the cells that one wants to compare, and where MLflow shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.output.mlflow_traces import TraceLog, trace_id
from runner.output.traces.choice import chosen_samples
from runner.output.traces.read import CellTraces
from runner.results import CellResult, read_cell


@dataclass(frozen=True)
class TracedSweep:
    """How many samples of how many cells have traces, and how many traces of them all are new. `without_texts` says why
    the passages of some have no text; "" where all have.
    """

    n_samples: int
    n_cells: int
    n_new: int
    without_texts: str

    def __str__(self) -> str:
        new = f"{self.n_new} new" if self.n_new else "all there already"
        lacking = f"; without the texts of passages: {self.without_texts}" if self.without_texts else ""
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
    ids = chosen_samples(cells, sweep_dir, metrics, n) if cells else []
    without_texts, n_new = "", 0
    for cell, run_id in zip(cells, run_ids, strict=True):
        there = log.there(run_id)
        new = [an_id for an_id in ids if trace_id(run_id, an_id) not in there]
        if new:
            folder = sweep_dir / cell.cell_id
            traces = CellTraces(folder, read_cell(folder), new)
            log.write(run_id, traces)
            n_new += len(new)
            without_texts = without_texts or traces.without_texts
    return TracedSweep(len(ids), len(cells), n_new, without_texts)
