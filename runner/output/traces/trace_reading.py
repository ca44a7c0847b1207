"""Traces of a cell, read from its files."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from components.errors import DataError
from components.forensics.verdicts import Verdict
from runner.output.traces.trace_content import sample_trace
from runner.output.traces.trace_records import SampleTrace
from runner.results import CellResult, open_samples
from runner.results.forensic_verdicts import sample_verdicts
from runner.results.hit_texts import CorpusTexts, corpus_texts
from runner.results.loaded_sweep import LoadedSweep

_OF_A_CORPUS = "score_statistics/"
_ROWS_TOGETHER = 50


class CellTraces:
    """Some samples of a cell. `lacking` says what could not be told of them, and why; "" where nothing lacks."""

    def __init__(self, sweep: LoadedSweep, cell: CellResult, sample_ids: Collection[str]) -> None:
        """Reads the samples, why they failed, and the texts of what was found. Raises DataError for the first."""
        self._cell = cell
        self._rows = _rows(sweep, cell, sample_ids)
        self._corpus: CorpusTexts | None = None
        self._verdicts: Mapping[str, Verdict] = {}
        self.lacking = ""
        try:
            if len(self._rows["retrieved"].combine_chunks().flatten()):
                self._corpus = corpus_texts(cell, sweep.folder)
            self._verdicts = {own.id: own.verdict for own in sample_verdicts(sweep, cell)}
        except DataError as error:
            self.lacking = str(error)

    def __iter__(self) -> Iterator[SampleTrace]:
        """In the order of the table."""
        for batch in self._rows.to_batches(max_chunksize=_ROWS_TOGETHER):
            for row in batch.to_pylist():
                yield sample_trace(row, self._cell, self._corpus, self._verdicts.get(row["id"]))


def _rows(sweep: LoadedSweep, cell: CellResult, sample_ids: Collection[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    with open_samples(sweep.folder_of(cell)) as file:
        columns = [name for name in file.schema_arrow.names if not name.startswith(_OF_A_CORPUS)]
        rows = file.read(columns, use_threads=False)
    return rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(sample_ids), pa.string())))
