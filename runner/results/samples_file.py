"""Samples of a cell: columns and rows of its `samples.parquet`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from components.errors import DataError
from components.json_value import Json
from components.records import AnswerState, Kind
from runner.console.display import escape_control

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


_TEXTS = ("id", "subset", "kind", "question", "answer", "state")
"""Columns that have a text for every sample."""


def read_samples(folder: Path, columns: Sequence[str]) -> list[dict[str, Json]]:
    """Return these columns of all rows of a cell's `samples.parquet`.

    Raises DataError if the file is missing or damaged.
    """
    with open_samples(folder) as file:
        rows: list[dict[str, Json]] = read_columns(file, columns).to_pylist()
    return rows


def read_rows(folder: Path, columns: Sequence[str], indices: Sequence[int]) -> list[dict[str, Json]]:
    """Return these columns of the rows at `indices`, in that order.

    Raises DataError if the file is missing or damaged.
    """
    with open_samples(folder) as file:
        table = read_columns(file, columns).take(np.asarray(indices, dtype=np.int64))
        rows: list[dict[str, Json]] = table.to_pylist()
    return rows


def read_column_names(folder: Path) -> list[str]:
    """Return the names of the columns of a cell's `samples.parquet`.

    Raises DataError if the file is missing or damaged.
    """
    with open_samples(folder) as file:
        names: list[str] = file.schema_arrow.names
    return names


def read_columns(file: "pq.ParquetFile", columns: Sequence[str]) -> "pa.Table":
    """Return these columns of a file that `open_samples` opened.

    Raises OSError if a column of texts contains a null, if a kind or a state is unknown, or if a history is not a list
    of turns.
    """
    table = file.read(list(columns), use_threads=False)
    for name in set(columns).intersection(_TEXTS, table.column_names):
        if table[name].null_count:
            raise OSError(f"its column {name} lacks {table[name].null_count} of {len(table)} texts")
    for name, (is_valid, expected) in _CHECKS.items():
        for value in table[name].unique().to_pylist() if name in table.column_names else ():
            if not is_valid(value):
                shown = escape_control(str(value)[:_MAX_SHOWN_CHARACTERS])
                raise OSError(f"its column {name} has {shown!r}, expected {expected}")
    return table


def _is_history(text: Json) -> bool:
    """Return True for the JSON of a list of turns."""
    try:
        turns = json.loads(text)
    except (ValueError, RecursionError, TypeError):
        return False
    return isinstance(turns, list) and all(
        isinstance(turn, dict) and isinstance(turn.get("question"), str) and isinstance(turn.get("answer"), str)
        for turn in turns
    )


_MAX_SHOWN_CHARACTERS = 40
_CHECKS: Mapping[str, tuple[Callable[[Json], bool], str]] = {
    "kind": (frozenset(Kind).__contains__, f"one of {', '.join(Kind)}"),
    "state": (frozenset(AnswerState).__contains__, f"one of {', '.join(AnswerState)}"),
    "history": (_is_history, "a list of turns as JSON"),
}
"""Tests of the values of a column, and a description of valid values."""


@contextmanager
def open_samples(folder: Path) -> Iterator["pq.ParquetFile"]:
    """Open a cell's `samples.parquet`: see `open_parquet`. Raises DataError if the file is missing or damaged."""
    with open_parquet(folder / "samples.parquet", "the samples of a finished cell") as file:
        yield file


@contextmanager
def open_parquet(path: Path, expected: str) -> Iterator["pq.ParquetFile"]:
    """Open a file of a sweep as PyArrow's ParquetFile. Raises DataError if it is missing, damaged, or has unusable
    columns.

    Call its `read` with `use_threads=False`: a process that ends while a thread of Arrow's still runs is aborted.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.exists() and not path.is_file():  # reading a FIFO would wait for a writer
            raise OSError("it is not a file")
        with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            _require_columns(file.schema_arrow)
            yield file
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read ({'it does not exist' if isinstance(error, FileNotFoundError) else error}), "
            f"expected {expected}. Run the sweep's command again: finished work is cached."
        ) from error


def _require_columns(schema: "pa.Schema") -> None:
    """Raise OSError for two columns of the same name, for texts that are not strings, and for scores that are not
    numbers.
    """
    from pyarrow import types

    if len(set(schema.names)) < len(schema.names):
        raise OSError("two of its columns have the same name")
    for column in schema:
        is_number = types.is_floating(column.type) or types.is_integer(column.type) or types.is_null(column.type)
        if column.name.startswith("score/") and not is_number:
            raise OSError(f"its column {column.name} is of type {column.type}, not numbers")
        is_text = types.is_string(column.type) or types.is_large_string(column.type) or types.is_dictionary(column.type)
        if column.name in _TEXTS and not is_text:
            raise OSError(f"its column {column.name} is of type {column.type}, not strings")
