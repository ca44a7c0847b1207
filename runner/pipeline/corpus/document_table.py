"""Stores documents in a Parquet table. The texts of a large corpus stay on disk."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from components.records import Documents, LazySequence
from runner.engine.codecs import Parts
from runner.engine.store.part_files import Part
from runner.engine.store.stored_result import StoredParts

T = TypeVar("T")

_ROWS_PER_GROUP = 1024
"""Documents per row group, the smallest unit that is read from a file."""

_GROUPS_HELD = 4

_LARGE_BYTES = 64 << 20
"""Texts of files of at least this size are read on demand."""

_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "title": pa.string(),
        "text": pa.large_string(),
        "metadata": pa.map_(pa.string(), pa.string()),
    }
)


def documents_part(documents: Documents) -> Part:
    """Return the table as a stream of row groups, so that no second copy of the corpus is in memory."""
    return pa.RecordBatchReader.from_batches(_SCHEMA, _batches(documents))


def _batches(documents: Documents) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(documents), _ROWS_PER_GROUP):
        rows = slice(first, first + _ROWS_PER_GROUP)
        n = len(documents.ids[rows])
        metadata = [list(facts.items()) for facts in documents.metadata[rows]] if documents.metadata else [[]] * n
        columns = [documents.ids[rows], documents.titles[rows], documents.texts[rows], metadata]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, _SCHEMA.types, strict=True)]
        yield pa.record_batch(arrays, schema=_SCHEMA)


def read_documents(parts: Parts) -> Documents:
    """Return the documents of a part named "documents"."""
    if isinstance(parts, StoredParts) and (path := parts.file("documents")).stat().st_size >= _LARGE_BYTES:
        return _large_documents(path)
    table = parts["documents"]
    table = table.read_all() if isinstance(table, pa.RecordBatchReader) else table
    metadata = [dict(facts) for facts in table["metadata"].to_pylist()]
    ids, titles, texts = (table[column].to_pylist() for column in ("id", "title", "text"))
    return Documents(ids, titles, texts, metadata if any(metadata) else ())


def _large_documents(path: Path) -> Documents:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        ids, titles = (file.read([name], use_threads=False)[name].to_pylist() for name in ("id", "title"))
        has_metadata = any(_has_facts(file, group) for group in range(file.num_row_groups))
    metadata: Sequence[Mapping[str, str]] = DocumentColumn(path, "metadata", dict) if has_metadata else ()
    return Documents(ids, titles, DocumentColumn(path, "text", str), metadata)


def _has_facts(file: pq.ParquetFile, group: int) -> bool:
    (column,) = file.read_row_group(group, ["metadata"], use_threads=False).columns
    return any(len(chunk.keys) for chunk in column.chunks)


class DocumentColumn(LazySequence[T]):
    """A column of a Parquet file. It caches the row groups that were read last."""

    def __init__(self, path: Path, name: str, convert: Callable[..., T]) -> None:
        """Open the file. `convert` turns each value of PyArrow into an item."""
        self._name, self._convert = name, convert
        self._file = pq.ParquetFile(path, pre_buffer=False)
        self._groups: OrderedDict[int, list[T]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def _item(self, index: int) -> T:
        row = range(len(self))[index]
        return self._group(row // _ROWS_PER_GROUP)[row % _ROWS_PER_GROUP]

    def __iter__(self) -> Iterator[T]:
        for group in range(self._file.num_row_groups):
            yield from self._group(group)

    def _group(self, number: int) -> list[T]:
        with self._lock:
            if number in self._groups:
                self._groups.move_to_end(number)
            else:
                (column,) = self._file.read_row_group(number, [self._name], use_threads=False).columns
                self._groups[number] = list(map(self._convert, column.to_pylist()))
                if len(self._groups) > _GROUPS_HELD:
                    self._groups.popitem(last=False)
            return self._groups[number]
