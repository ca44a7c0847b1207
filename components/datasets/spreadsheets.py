"""Reading CSV files as spreadsheet programs save them."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from json import JSONDecodeError
from pathlib import Path

from components.datasets.data_files import invalid_utf8, parse_user_json, read_bytes
from components.errors import DataError
from components.limits import expected_one_of

_LIST_OF_TEXTS = re.compile(r"\s*\[\s*[\"'“”„‘«]")
"""The beginning of a list of texts, also with quotation marks that a program replaced."""

_WRITE_LIST = 'Write several as ["one", "another"]'


def read_csv_text(file: Path, expected: str) -> str:
    """Return the text of a CSV file. Raises DataError if it cannot be read, or is not UTF-8."""
    content = read_bytes(file, expected)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f'{invalid_utf8(file, error.start, line, content[error.start])} Excel saves "CSV UTF-8".'
        ) from error


def find_delimiter(text: str) -> str:
    """Return the comma, semicolon, tab or bar that separates most cells of the first row. Excel writes semicolons where
    commas are decimal points.
    """
    first = text.lstrip("\r\n").partition("\n")[0]
    return max(",;\t|", key=lambda mark: (len(next(csv.reader([first], delimiter=mark), [])), -first.find(mark)))


def table_rows(
    text: str,
    file: Path,
    expected: str,
    first_number: int,
    *,
    column_of: Callable[[str], str] = str.strip,
    required: Sequence[str] = (),
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row that is not blank, and its cells by column. A missing cell is "".

    `column_of` returns the column of a name in the first row; a column without a name is left out. The first row below
    has `first_number`. Raises DataError for a file that is not CSV, for a `required` column that is missing, for a
    repeated column, and for a row with more cells than the first one, whose cells may be in the wrong columns.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=find_delimiter(text), strict=True)
    try:
        titles = [title.strip() for title in next(filter(None, rows), [])]
        header = [column_of(title) for title in titles]
        if missing := [name for name in required if name not in header]:
            named = expected_one_of(missing[0], [title for title in titles if title])
            raise DataError(f"{file}: has no column {missing[0]!r}{named}. The file must be {expected}.")
        if repeated := [name for name, n in Counter(filter(None, header)).items() if n > 1]:
            raise DataError(
                f"{file}: has the column '{repeated[0]}' {header.count(repeated[0])} times, expected {expected}. Name "
                "each column once."
            )
        for number, row in enumerate(rows, start=first_number):
            if any(cell.strip() for cell in row[len(header) :]):
                raise DataError(
                    f"{file}, row {number}: got {len(row)} cells, expected {len(header)} as in the first row; a cell "
                    "may be in the wrong column. Put cells that contain separators in double quotes."
                )
            if any(cell.strip() for cell in row):
                cells = [*row, *[""] * (len(header) - len(row))]
                yield number, {name: cell for name, cell in zip(header, cells, strict=False) if name}
    except csv.Error as error:
        raise DataError(f"{file}, line {rows.line_num}: is not CSV ({error}), expected {expected}") from error


def texts_in(cell: str) -> list[str]:
    """Return the texts in a cell: one text, or a JSON list of several; [] for an empty cell.

    A text that only begins with a bracket, such as "[503] metres", is one text. Raises ValueError for a list of texts
    that is not JSON, and for a list with other values.
    """
    if not cell.lstrip().startswith("["):
        return [cell] if cell else []
    try:
        values = parse_user_json(cell)
    except JSONDecodeError as error:
        if _LIST_OF_TEXTS.match(cell):
            raise ValueError(f"not a list of strings ({error}). {_WRITE_LIST}") from error
        return [cell]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"got a list with values that are not strings. {_WRITE_LIST}")
    return values
