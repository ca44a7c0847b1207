"""Turns a table of questions, such as a CSV file that colleagues filled in, into questions of a data set."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from components.errors import DataError, read_each
from components.json_value import Json
from components.limits import expected_one_of
from runner.console.written_files import require_other_files, write_lines

_DELIMITERS = (",", ";", "\t", "|")
_BETWEEN_DOCUMENTS = ";"
QUOTED, NAMED, UNANSWERABLE, OPEN = "sentence known", "document known", "no answer", "no gold"
"""Subsets: gold is a sentence or whole documents, the documents lack the answer, or gold is unknown."""


@dataclass(frozen=True)
class TableColumns:
    """Names of columns. "" for a field that the table does not have."""

    question: str
    answer: str = ""
    document: str = ""
    quote: str = ""
    topic: str = ""
    id: str = ""


@dataclass(frozen=True)
class ConvertedTable:
    """Numbers of questions: all, those without an answer, and those of each subset."""

    n_questions: int
    n_without_answer: int
    n_by_subset: Mapping[str, int]


def convert_table(table: Path, columns: TableColumns, out: Path, *, blank_is_unanswerable: bool) -> ConvertedTable:
    """Write a question per row of a CSV file as JSON Lines. Return the counts.

    A document may be several paths, separated by semicolons: any one of them answers the question. A quote is from a
    single document. A row without a document has no known gold, or, with `blank_is_unanswerable`, is a question that
    the documents do not answer. Blank rows are skipped, and rows without an id are numbered.

    Raises one DataError with every unusable row, and for columns that the table lacks.
    """
    require_other_files([table], out)
    names = [name for name in vars(columns).values() if name]
    rows = list(_rows(table, names))
    records = read_each(lambda row: _record(*row, columns, blank_is_unanswerable=blank_is_unanswerable), rows)
    if not records:
        raise DataError(f"{table}: has no row with a question. Check --question.")
    _require_distinct(records, [location for location, _ in rows])
    write_lines(out, (json.dumps(record, ensure_ascii=False) for record in records))
    subsets = [str(record["subset"]) for record in records]
    return ConvertedTable(
        len(records),
        sum("references" not in record for record in records),
        {name: subsets.count(name) for name in (QUOTED, NAMED, UNANSWERABLE, OPEN) if name in subsets},
    )


def _rows(table: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the location and the named fields of each row that is not blank."""
    text = _read(table)
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _require_columns(table, header, names)
        for fields in reader:
            location = f"{table}, line {reader.line_num}"
            if len(fields) > len(header):
                raise DataError(
                    f"{location}: has {len(fields)} fields, expected {len(header)}, as in the first line. Put quotes "
                    f"around fields that contain {delimiter!r}."
                )
            row = dict(zip(header, (field.strip() for field in fields), strict=False))
            if any(row.get(name) for name in names):
                yield location, {name: row.get(name, "") for name in names}
    except csv.Error as error:
        raise DataError(f"{table}, line {reader.line_num}: is not CSV ({error}). Repair the line.") from error


def _read(table: Path) -> str:
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{table}: is not UTF-8 text. Save the table as CSV in UTF-8.") from error
    except OSError as error:
        raise DataError(f"{table}: cannot be read ({error.strerror}), expected a CSV file of questions") from error


def _require_columns(table: Path, header: Sequence[str], names: Sequence[str]) -> None:
    """Raise DataError unless the table has each of the columns once."""
    for name in names:
        if name not in header:
            raise DataError(
                f"{table}: has no column {name!r}{expected_one_of(name, [each for each in header if each])}"
            )
        if header.count(name) > 1:
            raise DataError(f"{table}: has {header.count(name)} columns {name!r}. Rename all but one.")


def _record(
    location: str, row: Mapping[str, str], columns: TableColumns, *, blank_is_unanswerable: bool
) -> dict[str, Json]:
    question, answer, document, quote, topic, an_id = (row.get(name, "") for name in vars(columns).values())
    if not question:
        raise DataError(f"{location}: the column {columns.question!r} is empty. Write a question, or delete the row.")
    documents = [path.strip() for path in document.split(_BETWEEN_DOCUMENTS) if path.strip()]
    if quote and len(documents) != 1:
        raise DataError(
            f"{location}: has a quote and {len(documents)} documents, expected one document. Name the document that "
            "contains the quote, or leave the quote out."
        )
    record: dict[str, Json] = {"id": an_id or location.rpartition(" ")[2], "question": question}
    if answer:
        record["references"] = [answer]
    if topic:
        record["topic"] = topic
    if quote:
        return {**record, "gold": [{"document": documents[0], "quote": quote}], "subset": QUOTED}
    if documents:
        return {**record, "gold_any": documents, "subset": NAMED}
    if blank_is_unanswerable:
        return {**record, "answerable": False, "subset": UNANSWERABLE}
    return {**record, "subset": OPEN}


def _require_distinct(records: Sequence[Mapping[str, Json]], locations: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for record, location in zip(records, locations, strict=True):
        earlier = first.setdefault(record["id"], location)
        if earlier != location:
            raise DataError(f"{location}: the id {record['id']!r} is also that of {earlier}. Correct one of the two.")
