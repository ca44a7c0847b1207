"""Annotation in a spreadsheet: CSV that Excel opens as UTF-8, a row for each sample, a file for each annotator.

Texts are escaped: see `runner.console.spreadsheet_cells`.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from components.datasets.data_files import BYTE_ORDER_MARK, parse_user_json
from components.datasets.json_fields import as_list, as_record, required_text
from components.datasets.spreadsheets import read_csv_text, table_rows, texts_in
from components.errors import DataError
from components.records import Evidence, Sample
from runner.console.spreadsheet_cells import escape, unescape
from runner.results.released_set import Testset
from runner.testset.annotating.annotated_set import AnnotatedVersions
from runner.testset.annotating.annotations import MAX_RATING, Annotation, AnnotationSet, AnnotatorCheck
from runner.testset.annotating.annotator_wording import NO, YES, AnnotatorWording
from runner.testset.annotating.marks import Mark, make_gold

_TEXTS = ("id", "version", "task", "topic", "history", "question", "references", "gold")
_COLUMNS = (*_TEXTS, *(f"check_{check}" for check in AnnotatorCheck), "rating")
_EXPECTED = (
    f"the CSV of python -m runner.annotate export, with the columns {', '.join(_COLUMNS)}, one file per annotator"
)
_MAX_ERRORS = 10
"""Errors that one message lists."""


def write_sheet(samples: Sequence[Sample], testset: Testset, wording: AnnotatorWording) -> str:
    """Return the whole file. `references` is one answer or a JSON list of several, `gold` a JSON list of passages."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    titles = {f"check_{check}": f" {wording.checks[check]} ({wording.yes}/{wording.no})" for check in AnnotatorCheck}
    titles["rating"] = f" {wording.rating}"
    writer.writerow([f"{name}:{titles[name]}" if name in titles else name for name in _COLUMNS])
    for sample in samples:
        cells = _exported_cells(sample, testset)
        writer.writerow([cells.get(name, "") for name in _COLUMNS])
    return BYTE_ORDER_MARK + text.getvalue()


def _exported_cells(sample: Sample, testset: Testset) -> dict[str, str]:
    history = "\n".join(f"{turn.question}\n→ {turn.answer}" for turn in sample.history)
    cells = (sample.id, testset.key, sample.task or "", sample.topic or "", history, sample.question)
    texts = (*cells, _answers_cell(sample.references), _gold_cell(sample.gold, testset))
    return {name: escape(text) for name, text in zip(_TEXTS, texts, strict=True)}


def _answers_cell(references: Sequence[str]) -> str:
    if len(references) == 1 and not references[0].lstrip().startswith("["):
        return references[0]
    return json.dumps(references, ensure_ascii=False) if references else ""


def _gold_cell(gold: Sequence[Evidence], testset: Testset) -> str:
    """Return the passages. Whole documents are left out, because people cannot mark them."""
    units = [
        {
            "document": unit.document_id,
            "start": unit.start,
            "end": unit.end,
            "text": testset.texts[unit.document_id][unit.start : unit.end],
        }
        for unit in gold
        if unit.start is not None
    ]
    return json.dumps(units, ensure_ascii=False, indent=0) if units else ""


def read_sheet(file: Path, known: AnnotatedVersions, annotator: str) -> AnnotationSet:
    """Read one person's annotations. A row in which nothing was changed or filled in counts as untouched.

    Raises DataError for a file that is not such a sheet. Rows with an invalid rating or check, and rows that
    `AnnotatedVersions.sample_of` rejects, are reported together.
    """
    annotations = []
    errors = []
    n_untouched = n_of_removed = 0
    for number, row in _rows(file):
        location = f"{file}, row {number}"
        try:
            sample = known.sample_of(unescape(row["id"]), unescape(row["version"]), location)
            annotation = _annotation(row, sample, known, annotator, location) if sample else None
        except DataError as error:
            errors.append(str(error))
            continue
        if sample is None or annotation is None:
            n_of_removed += 1
            continue
        as_exported = Annotation(
            sample.id, annotator, None, {}, sample.topic, sample.question, sample.references, sample.gold
        )
        if annotation == as_exported:
            n_untouched += 1
        else:
            annotations.append(annotation)
    if errors:
        n_more = len(errors) - _MAX_ERRORS
        raise DataError("\n".join([*errors[:_MAX_ERRORS], *([f"and {n_more} more rows"] if n_more > 0 else [])]))
    return AnnotationSet(tuple(annotations), n_untouched=n_untouched, n_of_removed=n_of_removed)


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    text = read_csv_text(file, _EXPECTED)
    return table_rows(text, file, _EXPECTED, first_number=2, column_of=_parse_column, required=_COLUMNS)


def _parse_column(title: str) -> str:
    return title.partition(":")[0].strip()


def _annotation(
    row: Mapping[str, str], sample: Sample, known: AnnotatedVersions, annotator: str, location: str
) -> Annotation:
    """Return the annotation in a row. Unchanged cells have the values of the sample."""
    exported = _exported_cells(sample, known.testset)
    row = {name: unescape(cell, exported.get(name, "")) for name, cell in row.items()}
    texts = known.testset.texts
    problems: list[str] = []
    question, references, gold = sample.question, sample.references, sample.gold
    if not _is_unchanged(row["question"], question):
        question = row["question"].strip()
        problems += [] if question else ["the question is blank: rate it 1 or 2 to have it removed"]
    if not _is_unchanged(row["references"], _answers_cell(references)):
        references, unread = _answers(row["references"])
        problems += unread or ([] if references else ["no answer is left"])
    if not _is_unchanged(row["gold"], _gold_cell(gold, known.testset)):
        marks, wrong = _marks(row["gold"], texts)
        gold, unplaced = make_gold(sample, marks, texts)
        problems += [*wrong, *unplaced] or ([] if marks else ["no passage is left: rate it 1 or 2 to have it removed"])
    topic = row["topic"].strip() or None
    if topic and topic not in known.topics:
        problems.append(f"this set has no topic '{topic}'")
    rating, checks = _rating(row["rating"], location), dict(_checks(row, location))
    return Annotation(sample.id, annotator, rating, checks, topic, question, references, gold, tuple(problems))


def _is_unchanged(cell: str, before: str) -> bool:
    """Return True if a cell is unchanged. Spreadsheets write line breaks in their own way."""
    first, second = (text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in (cell, before))
    return first == second


def _answers(cell: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the answers of a cell, and errors if its list cannot be read."""
    try:
        texts = texts_in(cell)
    except ValueError as error:
        return (), [f"the column 'references' cannot be read: {error}"]
    return tuple(text.strip() for text in texts if text.strip()), []


def _marks(cell: str, texts: Mapping[str, str]) -> tuple[list[Mark], list[str]]:
    """Return the marks of a cell, and errors. A passage whose place has another text is searched by its text, which
    must occur once.
    """
    marks: list[Mark] = []
    wrong = []
    try:
        units = [as_record(unit, "gold") for unit in as_list(parse_user_json(cell or "[]"), "gold")]
        for unit in units:
            name, text = (required_text(unit, field, "gold") for field in ("document", "text"))
            document, start, end = texts.get(name, ""), unit.get("start"), unit.get("end")
            if isinstance(start, int) and isinstance(end, int) and document[start:end] == text:
                marks.append(Mark(name, start, end, text))
            elif text and document.count(text) == 1:
                position = document.index(text)
                marks.append(Mark(name, position, position + len(text), text))
            else:
                n = document.count(text) if text else 0
                wrong.append(f"the passage {text[:40]!r} occurs {n} times in document {name!r}, expected once")
    except (ValueError, DataError) as error:
        wrong.append(f"the column 'gold' cannot be read ({error})")
    return marks, wrong


def _checks(row: Mapping[str, str], location: str) -> Iterator[tuple[AnnotatorCheck, bool]]:
    for check in AnnotatorCheck:
        cell = row[f"check_{check}"].strip().lower()
        if cell and cell not in YES | NO:
            raise DataError(f"{location}: got '{cell}' for check_{check}, expected yes or no")
        if cell:
            yield check, cell in YES


def _rating(cell: str, location: str) -> int | None:
    if not cell.strip():
        return None
    rating = cell.strip().removesuffix(".0")
    if rating not in map(str, range(1, MAX_RATING + 1)):
        raise DataError(f"{location}: got the rating {cell!r}, expected 1 to {MAX_RATING}")
    return int(rating)
