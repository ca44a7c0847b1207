"""SQLite databases, in which each row of each table is a document."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from urllib.parse import quote

from components.datasets.file_content import FileContent, FileEntry, ReadingOptions
from components.datasets.table_rows import find_text_columns, limit_text, row_document
from components.errors import DataError
from components.limits import expected_one_of

_HEADER = b"SQLite format 3\0"
_MAX_MILLIONS_OF_STEPS = 1_000
_MAX_VALUE_BYTES = 500_000_000
_UNWRITTEN = ("-wal", "-journal")
"""Suffixes of files next to a database, in which SQLite keeps changes before it writes them to the database."""


def is_database(file: Path) -> bool:
    """Return True if the file begins like a SQLite database; other programs use the extension `.db` too.

    Raises DataError if it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return stream.read(len(_HEADER)) == _HEADER
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}). Make it readable, or remove it.") from error


def read_database(file: Path, options: ReadingOptions) -> FileContent:
    """Return a document per row, with "/table/primary key" as its part, or "/table/row number" without a primary key.

    Views are left out and counted unless `tables` names them. Binary values, and tables without the columns that become
    the text, are left out and counted too. The file is never written. Raises DataError for a damaged file, for changes
    that are not yet in it, for missing tables, and for views that take too long.
    """
    for suffix in _UNWRITTEN:
        beside = file.with_name(file.name + suffix)
        if beside.is_file() and beside.stat().st_size:
            raise DataError(
                f"{file}: some of its changes are still in {beside.name}, because a program uses it or was killed. "
                "Close that program (or open and close the database with `sqlite3`), and try again."
            )
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")  # views may call harmless functions only
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            steps = count(1)
            database.set_progress_handler(lambda: next(steps) > _MAX_MILLIONS_OF_STEPS, 1_000_000)
            return _read_tables(database, file, options)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise _unreadable(file, error) from error
        raise DataError(
            f"{file}: its rows take more than {_MAX_MILLIONS_OF_STEPS:,} million steps of SQLite to compute; a view "
            "may never end. Choose other `tables`, or store the rows of the view as a table."
        ) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the name of a column may not be UTF-8
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> DataError:
    return DataError(f"{file}: cannot be read as a SQLite database ({error}). Repair the file, or remove it.")


def _read_tables(database: sqlite3.Connection, file: Path, options: ReadingOptions) -> FileContent:
    kinds = dict(
        database.execute(
            "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' "
            "AND type != 'shadow' ORDER BY name"
        ).fetchall()
    )
    if unknown := [name for name in options.tables if name not in kinds]:
        raise DataError(f"{file}: tables: got {unknown[0]!r}{expected_one_of(unknown[0], kinds)}")
    tables = options.tables or [name for name, kind in kinds.items() if kind != "view"]
    counts = Counter(n_views=len(kinds) - len(tables) if not options.tables else 0)
    entries: list[FileEntry] = []
    text_columns: frozenset[str] = frozenset()
    for table in tables:
        cursor = database.execute(f'SELECT * FROM "{table.replace(chr(34), chr(34) * 2)}"')  # noqa: S608  # a quoted name
        table_text_columns = find_text_columns((column[0] for column in cursor.description), options)
        text_columns |= table_text_columns
        if options.text_columns and not table_text_columns:
            counts["n_tables_without_text_columns"] += 1
        else:
            entries += limit_text(_rows(database, table, cursor, options, counts), file)
    return FileContent(entries, counts, text_columns)


def _rows(
    database: sqlite3.Connection, table: str, cursor: sqlite3.Cursor, options: ReadingOptions, counts: Counter[str]
) -> Iterator[FileEntry]:
    columns = [column[0] for column in cursor.description]
    key = _primary_key(database, table)
    for number, row in enumerate(cursor, start=1):
        values = dict(zip(columns, row, strict=True))
        counts["n_binary_values"] += sum(isinstance(value, bytes) for value in row)
        texts = {
            column: str(value)
            for column, value in values.items()
            if value is not None and not isinstance(value, bytes) and str(value).strip()
        }
        yield row_document(f"/{table}/{_format_key(values, key) or f'{number:06d}'}", texts, options)


def _primary_key(database: sqlite3.Connection, table: str) -> list[str]:
    rows = database.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,))
    return [name for (name,) in rows]


def _format_key(values: dict[str, object], key: Sequence[str]) -> str:
    """Return the key of a row, its parts joined by commas; "" if it has no key or a part is binary or NULL."""
    parts = [values[column] for column in key]
    if not all(isinstance(part, str | int | float) for part in parts):
        return ""
    return ",".join(str(part) for part in parts)
