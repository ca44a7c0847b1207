"""CSV files, in which each row is a document."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from components.datasets.data_files import MAX_LINE_BYTES, read_lines
from components.datasets.file_content import FileContent, FileEntry, ReadingOptions
from components.datasets.table_rows import find_text_columns, limit_text, row_document
from components.errors import DataError

_EXPECTED = "a CSV file in UTF-8, with the names of its columns in the first row"

_SEPARATORS = frozenset(",;\t|\uff0c\uff1b")


def read_csv(file: Path, options: ReadingOptions) -> FileContent:
    """Return a document per row, whose part is the number of the row from 1.

    Columns are separated by commas, or by tabs in `.tsv` files. Several columns without a name are named by their
    numbers. A table without the columns that become the text is left out and counted. Raises DataError for a file that
    cannot be read, repeated column names, and another separator.
    """
    rows = _rows(file)
    _, columns = next(rows, (0, []))
    if not columns:
        return FileContent([], {"n_tables_without_rows": 1})
    if columns.count("") > 1:  # for example below a title in the first row, whose other columns are blank
        columns = [name or f"column {number}" for number, name in enumerate(columns, start=1)]
    if repeated := next((column for column, n in Counter(columns).items() if n > 1), None):
        raise DataError(f"{file}: two columns are named {repeated!r}, expected {_EXPECTED}. Rename one.")
    if len(columns) == 1 and (separators := [sign for sign in _SEPARATORS - {_separator(file)} if sign in columns[0]]):
        raise DataError(
            f"{file}: the first row names one column, {columns[0]!r}, which contains {separators[0]!r}. Columns are "
            f"separated by {_separator(file)!r} in {file.suffix} files. Convert the file, or rename the column."
        )
    text_columns = find_text_columns(columns, options)
    if options.text_columns and not text_columns:
        return FileContent([], {"n_tables_without_text_columns": 1})
    entries = list(limit_text(_documents(rows, columns, file, options), file))
    return FileContent(entries, {"n_tables_without_rows": int(not entries)}, text_columns)


def _documents(
    rows: Iterator[tuple[int, list[str]]], columns: list[str], file: Path, options: ReadingOptions
) -> Iterator[FileEntry]:
    for number, (line, row) in enumerate(rows, start=1):
        if len(row) != len(columns):
            raise DataError(
                f"{file}, line {line}: got {len(row)} values, expected {len(columns)}, one for each column that the "
                "first row names. Correct the row, and put values with commas or line breaks in double quotes."
            )
        values = {column: value for column, value in zip(columns, row, strict=True) if value.strip()}
        yield row_document(f"/{number:06d}", values, options)


def _separator(file: Path) -> str:
    return "\t" if file.suffix.lower() == ".tsv" else ","


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the number of the line on which it ends."""
    csv.field_size_limit(
        max(csv.field_size_limit(), MAX_LINE_BYTES)
    )  # the default refuses articles of 128 Ki characters
    lines = (f"{line}\n" for _, line in read_lines(file, _EXPECTED))
    reader = csv.reader(lines, delimiter=_separator(file), strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise DataError(f"{file}, line {reader.line_num}: {error}, expected {_EXPECTED}. Correct the file.") from error
