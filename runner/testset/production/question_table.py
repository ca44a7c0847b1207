"""Turns a table of questions, such as a CSV file that colleagues filled in, into questions of a data set."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.datasets.spreadsheets import read_csv_text, table_rows
from components.errors import DataError, read_each
from components.json_value import Json
from runner.console.written_files import require_other_files, write_lines

_EXPECTED = "a CSV file of questions"
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
    first: dict[str, str] = {}

    def read(row: tuple[str, Mapping[str, str]]) -> dict[str, Json]:
        record = _record(*row, columns, blank_is_unanswerable=blank_is_unanswerable)
        if (earlier := first.setdefault(record["id"], row[0])) != row[0]:
            raise DataError(f"{row[0]}: the id {record['id']!r} is also that of {earlier}. Correct one of the two.")
        return record

    records = read_each(read, list(_rows(table, names)))
    if not records:
        raise DataError(f"{table}: has no row with a question. Check --question.")
    write_lines(out, (json.dumps(record, ensure_ascii=False) for record in records))
    subsets = [str(record["subset"]) for record in records]
    return ConvertedTable(
        len(records),
        sum("references" not in record for record in records),
        {name: subsets.count(name) for name in (QUOTED, NAMED, UNANSWERABLE, OPEN) if name in subsets},
    )


def _rows(table: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the location and the named cells of each row, except where all of these are blank."""
    text = read_csv_text(table, _EXPECTED)
    rows = table_rows(
        text, table, _EXPECTED, 2, column_of=lambda title: title if title in names else "", required=names
    )
    for number, row in rows:
        cells = {name: cell.strip() for name, cell in row.items()}
        if any(cells.values()):
            yield f"{table}, row {number}", cells


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
