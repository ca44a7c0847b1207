"""Logs the traces of a sweep: the same samples in the cells that users want to compare."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import DataError
from components.forensics.verdicts import Verdict
from runner.console.styled_text import count
from runner.output.mlflow_traces import TraceLog, trace_id
from runner.output.traces.trace_content import sample_trace
from runner.output.traces.trace_records import SampleTrace
from runner.output.traces.traced_samples import chosen_samples
from runner.results import CellResult, open_samples
from runner.results.forensic_verdicts import sample_verdicts
from runner.results.hit_texts import CorpusTexts, corpus_texts
from runner.results.loaded_sweep import LoadedSweep, load

if TYPE_CHECKING:  # imported where it is used
    import pyarrow as pa

_CORPUS_COLUMNS = "score_statistics/"
"""Prefix of columns for metrics of a whole corpus, which traces do not need."""

_ROWS_TOGETHER = 50


@dataclass(frozen=True)
class TracedSweep:
    """Number of samples with traces, of cells, and of new traces in all cells.

    `lacking` says why some traces lack passages' texts or causes of failure; "" if they are complete.
    """

    n_samples: int
    n_cells: int
    n_new: int
    lacking: str

    def __str__(self) -> str:
        new = f"{self.n_new} new" if self.n_new else "none of them new"
        note = f"; incomplete: {self.lacking}" if self.lacking else ""
        return f"{count(self.n_samples, 'sample')} in each of {count(self.n_cells, 'cell')}, {new}{note}"


def log_traces(
    log: TraceLog,
    sweep_dir: Path,
    cells: Sequence[CellResult],
    run_ids: Sequence[str],
    metrics: Sequence[str],
    n: int | None,
) -> TracedSweep:
    """Log traces of `n` samples (None: all) of each cell to its run, except traces that exist.

    The best cell comes first in `cells`. `metrics` choose the samples: see `chosen_samples`. Raises DataError if
    samples cannot be read, and whatever MLflow raises.
    """
    if not cells:
        return TracedSweep(0, 0, 0, "")
    ids = chosen_samples(cells, sweep_dir, metrics, n)
    sweep = load(sweep_dir)
    lacking, n_new = "", 0
    for cell, run_id in zip(cells, run_ids, strict=True):
        existing = log.list_existing(run_id)
        new = [sample_id for sample_id in ids if trace_id(run_id, sample_id) not in existing]
        if new:
            traces = _CellTraces(sweep, sweep.cell(cell.cell_id), new)
            log.write(run_id, traces)
            n_new += len(new)
            lacking = lacking or traces.lacking
    return TracedSweep(len(ids), len(cells), n_new, lacking)


class _CellTraces:
    """Traces of some samples of a cell. `lacking` is as in `TracedSweep`."""

    def __init__(self, sweep: LoadedSweep, cell: CellResult, sample_ids: Collection[str]) -> None:
        """Read the samples, the causes of failures, and the texts of hits.

        Raises DataError if `samples.parquet` cannot be read.
        """
        self._cell = cell
        self._rows = _rows(sweep, cell, sample_ids)
        self._corpus: CorpusTexts | None = None
        self._verdicts: Mapping[str, Verdict] = {}
        self.lacking = ""
        try:
            if len(self._rows["retrieved"].combine_chunks().flatten()):
                self._corpus = corpus_texts(cell, sweep.folder)
            self._verdicts = {sample.id: sample.verdict for sample in sample_verdicts(sweep, cell)}
        except DataError as error:
            self.lacking = str(error)

    def __iter__(self) -> Iterator[SampleTrace]:
        """Yield the traces in the order of the table."""
        for batch in self._rows.to_batches(max_chunksize=_ROWS_TOGETHER):
            for row in batch.to_pylist():
                yield sample_trace(row, self._cell, self._corpus, self._verdicts.get(row["id"]))


def _rows(sweep: LoadedSweep, cell: CellResult, sample_ids: Collection[str]) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.compute as pc

    with open_samples(sweep.folder_of(cell)) as file:
        columns = [name for name in file.schema_arrow.names if not name.startswith(_CORPUS_COLUMNS)]
        rows = file.read(columns, use_threads=False)
    return rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(sample_ids), pa.string())))
