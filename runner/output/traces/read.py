"""Traces of a cell, read from its files."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.errors import DataError
from runner.output.traces.content import sample_trace
from runner.output.traces.records import SampleTrace
from runner.output.traces.texts import DocumentText, document_texts
from runner.results import CellResult

_OF_A_CORPUS = "score_statistics/"
_ROWS_TOGETHER = 50


class CellTraces:
    """Some samples of a cell. `without_texts` says why passages have no text; "" where they have."""

    def __init__(self, folder: Path, cell: CellResult, sample_ids: Collection[str]) -> None:
        """Reads the samples, and the texts of what was found. Raises DataError."""
        self._cell = cell
        self._rows = _rows(folder / "samples.parquet", sample_ids)
        self._documents: Mapping[str, DocumentText] = {}
        self.without_texts = ""
        try:
            self._documents = document_texts(folder, cell, _found(self._rows))
        except DataError as error:  # what was found is told by its place, and all else is there
            self.without_texts = str(error)

    def __iter__(self) -> Iterator[SampleTrace]:
        """In the order of the table."""
        for batch in self._rows.to_batches(max_chunksize=_ROWS_TOGETHER):
            for row in batch.to_pylist():
                yield sample_trace(row, self._cell, self._documents)


def _rows(path: Path, sample_ids: Collection[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        # By this thread alone: a process that ends while one of Arrow's own threads still runs is aborted.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            columns = [name for name in file.schema_arrow.names if not name.startswith(_OF_A_CORPUS)]
            rows = file.read(columns, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read ({error}); wanted the samples of a finished cell") from error
    return rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(sample_ids), pa.string())))


def _found(rows: Any) -> list[str]:
    """Ids of the documents of all hits."""
    import pyarrow.compute as pc

    ids: list[str] = pc.unique(pc.struct_field(pc.list_flatten(rows["retrieved"]), "document_id")).to_pylist()
    return ids
