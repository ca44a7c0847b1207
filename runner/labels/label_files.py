"""Reads human labels from JSON Lines, CSV, or the JSON export of Label Studio.

Each item is an answer (with its question, references and the passages of its prompt), its human grades by metric, and
annotators' reasons if they gave any.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.datasets.data_files import read_lines
from components.datasets.json_fields import (
    Record,
    as_list,
    as_record,
    optional_facts,
    optional_text,
    optional_texts,
    read_records,
    required_text,
)
from components.datasets.json_files import read_json
from components.datasets.spreadsheets import table_rows, texts_in
from components.errors import DataError
from components.limits import expected_one_of
from components.records import JudgeInput, Kind, Passage, Sample, Turn
from components.secrets.mask import shortened_value
from components.subsets import UNNAMED
from runner.console.spreadsheet_cells import unescape

NOT_APPLICABLE = -1

_EXPECTED = (
    'items with "question", "references", "answer", "passages" and "labels" ({metric: grade}), as JSON Lines (.jsonl), '
    'as CSV with columns "label:<metric>" (.csv), or as Label Studio exports them (.json)'
)
_GRADE = re.compile(r"\s*([-−]?\d{1,9})(?:\.0+)?(?!\w|[.,/]\d)(.*)", re.DOTALL)
"""The whole number at the beginning of a label such as "2 - good", and the rest."""

_RANGES = re.compile(
    r"""\s*[-−–—~～/|&+、，,;]\d                                                         # 1-2, but not "2 - 1 error"
      | \W*\b(or|and|to|through|vs\.?|oder|und|bis|ou|et|à|o|y|e|или|и|до)\s+\d                     # 1 or 2
      | \s*(或者?|和|与|至|到|または|から)\s*\d
      | (?!\s*\()[\W_]*\d[\d\W]*\Z                                           # 1 2, 1:00, but not 3 (5/5)
      | [-.]\s?(jan|feb|fév|févr|mar|mär|mrz|mars|apr|avr|abr|may|mai|mag|jun|juin|giu|jul|juil|lug|aug|août|ago|sep
        |sept|set|oct|okt|ott|nov|dec|dez|déc|dic|янв|фев|апр|май|июн|июл|авг|сен|окт|ноя|дек)\.?([-.\s]+\d+)?\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""The rest of a label that states a range, such as 1-2, or a date that a spreadsheet made of one: 2-Jan, 01. Feb."""

_MAX_SHOWN_CHARACTERS = 80
_LABEL_COLUMN, _REASON_COLUMN = "label:", "reason:"
_REASON_CONTROL = "reason_"
"""Prefix of the names of text areas in Label Studio that ask for the reason of a grade."""


@dataclass(frozen=True)
class LabelledItem:
    """One answer with its human grades by metric. A grade of -1 means that the metric does not apply.

    `has_answer` is False if the file has no answer, or null; an empty answer counts as one. `reasons` are the
    explanations of their grades, by metric. `ties` are metrics without a label, because the annotators were evenly
    split.
    """

    judged: JudgeInput
    labels: Mapping[str, int]
    ties: tuple[str, ...] = ()
    has_answer: bool = True
    reasons: Mapping[str, str] = field(default_factory=dict)


def read_labels(file: Path) -> list[LabelledItem]:
    """Return all items. Raises DataError, which names the file and line, for an invalid value, and if no item has a
    label.
    """
    readers = {".jsonl": _read_jsonl, ".csv": _read_csv, ".json": _read_label_studio}
    if file.suffix.lower() not in readers:
        raise DataError(
            f"{file}: got the extension '{file.suffix}'{expected_one_of(file.suffix, readers)}: {_EXPECTED}"
        )
    items = list(readers[file.suffix.lower()](file))
    if not any(item.labels for item in items):
        raise DataError(f"{file}: got {len(items)} items without any label, expected {_EXPECTED}")
    _require_one_question_per_id(items, file)
    return items


def _require_one_question_per_id(items: Sequence[LabelledItem], file: Path) -> None:
    """Raise DataError if two questions have one id. A judge stores its preparation of a question by id, for all answers
    to it.
    """
    first: dict[str, Sample] = {}
    for item in items:
        sample = item.judged.sample
        if first.setdefault(sample.id, sample) != sample:
            raise DataError(
                f"{file}: two questions have the id {sample.id!r}, expected one id per question with its "
                "references; answers to the same question may share it"
            )


def _read_jsonl(file: Path) -> Iterator[LabelledItem]:
    for number, (location, record) in enumerate(read_records(file, _EXPECTED), start=1):
        labels = {
            name: _grade(grade, location) for name, grade in as_record(record.get("labels") or {}, location).items()
        }
        reasons = optional_facts(record, "reasons", location)
        judged = answer_in_record(record, str(number), location)
        yield LabelledItem(judged, labels, has_answer=record.get("answer") is not None, reasons=reasons)


def _read_csv(file: Path) -> Iterator[LabelledItem]:
    """Yield the items of a CSV file. Empty cells are not labels. `references` and `passages` are one text, or a JSON
    list of several.
    """
    rows = csv_records(file, _EXPECTED, lists=("references", "passages"), texts=("id", "question", "answer"))
    for number, (location, record) in enumerate(rows, start=1):
        labels = {
            name.removeprefix(_LABEL_COLUMN): _grade(value, location)
            for name, value in record.items()
            if name.startswith(_LABEL_COLUMN) and value
        }
        reasons = {
            name.removeprefix(_REASON_COLUMN): str(value)
            for name, value in record.items()
            if name.startswith(_REASON_COLUMN) and value
        }
        judged = answer_in_record(record, str(number), location)
        yield LabelledItem(judged, labels, has_answer=record.get("answer") is not None, reasons=reasons)


def csv_records(
    file: Path, expected: str, *, lists: Sequence[str], texts: Sequence[str]
) -> Iterator[tuple[str, Record]]:
    """Yield the location (for errors) and the fields of each row. The columns in `lists` are one text, or a JSON list
    of several.

    Apostrophes that protect cells of `lists` and `texts` from a spreadsheet are removed: see `spreadsheet_cells`.
    Raises DataError for a file that is not CSV. `expected` describes what the file should contain.
    """
    text = "\n".join(line for _, line in read_lines(file, expected))
    for number, row in table_rows(text, file, expected, first_number=1):
        location = f"{file}, row {number}"
        row = {name: unescape(cell) if cell and name in (*lists, *texts) else cell for name, cell in row.items()}
        yield location, {**row, **{name: _list_in_cell(row, name, location) for name in lists}}


def _read_label_studio(file: Path) -> Iterator[LabelledItem]:
    """Yield an item for each task, with the grade that most annotations give and the first reason for it. Cancelled
    annotations are ignored.
    """
    for number, task in enumerate(as_list(read_json(file, _EXPECTED).value, str(file)), start=1):
        location = f"{file}, task {number}"
        record = as_record(task, location)
        grades_of_metric: dict[str, Counter[int]] = {}
        reasons: dict[tuple[str, int], str] = {}
        for annotation in as_list(record.get("annotations") or [], location):
            controls = as_record(annotation, location)
            why = dict(_reasons(controls, location))
            for name, grade in _grades(controls, location):
                grades_of_metric.setdefault(name, Counter())[grade] += 1
                if name in why:
                    reasons.setdefault((name, grade), why[name])
        chosen = {name: _most_common(grades) for name, grades in grades_of_metric.items()}
        labels = {name: grade for name, grade in chosen.items() if grade is not None}
        ties = tuple(name for name, grade in chosen.items() if grade is None)
        data = as_record(record.get("data"), f"{location}, field 'data'")
        judged = answer_in_record({"id": str(record.get("id", number)), **data}, str(number), location)
        why = {name: reasons[name, grade] for name, grade in labels.items() if (name, grade) in reasons}
        yield LabelledItem(judged, labels, ties, has_answer=data.get("answer") is not None, reasons=why)


def _grades(annotation: Record, location: str) -> Iterator[tuple[str, int]]:
    """Yield (metric, grade) of every control in an annotation that holds choices, a rating or a number."""
    for name, value in iterate_controls(annotation, location):
        for kind in ("choices", "rating", "number"):
            if kind in value:
                yield name, _grade(_single_choice(value[kind], location), location)


def _reasons(annotation: Record, location: str) -> Iterator[tuple[str, str]]:
    """Yield (metric, reason) of every filled-in text area for reasons in an annotation."""
    for name, value in iterate_controls(annotation, location):
        if name.startswith(_REASON_CONTROL) and (reason := "\n".join(optional_texts(value, "text", location))):
            yield name.removeprefix(_REASON_CONTROL), reason


def iterate_controls(annotation: Record, location: str) -> Iterator[tuple[str, Record]]:
    """Yield the name and the value of every control; nothing for a cancelled annotation."""
    if annotation.get("was_cancelled"):
        return
    for result in as_list(annotation.get("result", []), location):
        control = as_record(result, location)
        value = as_record(control.get("value", {}), location)
        if value:
            yield required_text(control, "from_name", location), value


def _single_choice(chosen: object, location: str) -> object:
    if isinstance(chosen, list):
        if len(chosen) != 1:
            raise DataError(f"{location}: got {len(chosen)} choices, expected one: {chosen}")
        return chosen[0]
    return chosen


def _most_common(grades: Counter[int]) -> int | None:
    """Return the most frequent grade, None if two are equally frequent."""
    first, *others = grades.most_common(2)
    return None if others and others[0][1] == first[1] else first[0]


def _grade(value: object, location: str) -> int:
    """Return a whole number, which may be written as 2.0 or begin a text such as "2 - all of it"; "n/a" is -1."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        number = _GRADE.fullmatch(value)
        if number and not _RANGES.match(number[2]):
            return int(number[1].replace("−", "-"))
        if value.strip().lower() in ("n/a", "na", "not applicable", "not_applicable"):
            return NOT_APPLICABLE
    raise DataError(
        f"{location}: got the label {shortened_value(value, _MAX_SHOWN_CHARACTERS)}, expected a whole number or n/a"
    )


def _list_in_cell(row: Mapping[str, str], name: str, location: str) -> list[str]:
    try:
        return texts_in(row.get(name) or "")
    except ValueError as error:
        raise DataError(f"{location}: the column '{name}' cannot be read: {error}") from error


def answer_in_record(record: Record, number: str, location: str) -> JudgeInput:
    """Return the answer in a record with its question and passages. `number` is the id if the record has none."""
    sample = Sample(
        id=optional_text(record, "id", location) or number,
        subset=UNNAMED,
        kind=Kind.QA,
        question=required_text(record, "question", location),
        references=optional_texts(record, "references", location),
        history=tuple(_turns(record, location)),
    )
    passages = tuple(Passage(text) for text in optional_texts(record, "passages", location))
    return JudgeInput(sample, optional_text(record, "answer", location), passages)


def _turns(record: Record, location: str) -> Iterator[Turn]:
    turns = record.get("history")
    for number, turn in enumerate(as_list(turns, f"{location}, field 'history'") if turns else [], start=1):
        turn_location = f"{location}, field 'history', turn {number}"
        fields = as_record(turn, turn_location)
        yield Turn(required_text(fields, "question", turn_location), required_text(fields, "answer", turn_location))


def list_metrics(items: Iterable[LabelledItem]) -> list[str]:
    """Return the names of the metrics that have a label, in order of appearance."""
    return list(dict.fromkeys(name for item in items for name in item.labels))
