"""Human labels, against which a judge is validated: JSON Lines, CSV, or the JSON export of Label Studio.

Each item is an answer (with question, references and the passages of its prompt) and its human grades by metric, with
people's reasons where they gave some.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
from components.datasets.reading import read_lines
from components.errors import DataError
from components.records import JudgeInput, Kind, Passage, Sample, Turn
from components.subsets import UNNAMED
from components.text.spreadsheets import delimiter_of, texts_in

NOT_APPLICABLE = -1

_EXPECTED = (
    'items with "question", "references", "answer", "passages" and "labels" ({metric: grade}), as JSON Lines (.jsonl), '
    'as CSV with columns "label:<metric>" (.csv), or as Label Studio exports them (.json)'
)
_GRADE = re.compile(r"\s*(-?\d+)(?:\.0+)?(?!\w|[.,/]\d)")
_LABEL_COLUMN, _REASON_COLUMN = "label:", "reason:"
_REASON_CONTROL = "reason_"
"""How the name of a text area in Label Studio begins that asks for the reason of a grade."""


@dataclass(frozen=True)
class LabelledItem:
    """One answer with its human grades by metric; a grade of -1 says that the metric does not apply. `has_answer` is
    False if the file does not say what was answered (an empty answer is one).

    `reasons` are by metric what people wrote about their grade. `ties` are the metrics on which people are evenly
    split: they have no label.
    """

    judged: JudgeInput
    labels: Mapping[str, int]
    ties: tuple[str, ...] = ()
    has_answer: bool = True
    reasons: Mapping[str, str] = field(default_factory=dict)


def read_labels(file: Path) -> list[LabelledItem]:
    """All items. Raises DataError with the place of whatever cannot be used, and if there is no label at all."""
    readers = {".jsonl": _read_jsonl, ".csv": _read_csv, ".json": _read_label_studio}
    if file.suffix.lower() not in readers:
        raise DataError(
            f"{file}: the ending '{file.suffix}' came, one of {', '.join(readers)} was wanted: {_EXPECTED}."
        )
    items = list(readers[file.suffix.lower()](file))
    if not any(item.labels for item in items):
        raise DataError(f"{file}: {len(items)} items and not one label came. Expected: {_EXPECTED}.")
    _require_one_question_per_id(items, file)
    return items


def _require_one_question_per_id(items: Sequence[LabelledItem], file: Path) -> None:
    """What a judge settles about a question is kept by its id, so that several answers to the question share it."""
    first: dict[str, Sample] = {}
    for item in items:
        sample = item.judged.sample
        if first.setdefault(sample.id, sample) != sample:
            raise DataError(
                f"{file}: the id '{sample.id}' is that of two questions. Expected: an id for each question, with its "
                "references; answers to the same one may share it."
            )


def _read_jsonl(file: Path) -> Iterator[LabelledItem]:
    for number, (where, record) in enumerate(read_records(file, _EXPECTED), start=1):
        labels = {name: _grade(grade, where) for name, grade in as_record(record.get("labels") or {}, where).items()}
        reasons = optional_facts(record, "reasons", where)
        judged = _judged(record, str(number), where)
        yield LabelledItem(judged, labels, has_answer="answer" in record, reasons=reasons)


def _read_csv(file: Path) -> Iterator[LabelledItem]:
    """Empty cells are not labels; `references` and `passages` hold one text, or a JSON list of several."""
    for number, row in enumerate(_csv_rows(file), start=1):
        where = f"{file}, row {number}"
        record: dict[str, object] = {name: value for name, value in row.items() if name}
        for name in ("references", "passages"):
            record[name] = _list_in_cell(row, name, where)
        labels = {
            name.removeprefix(_LABEL_COLUMN): _grade(value, where)
            for name, value in row.items()
            if name and name.startswith(_LABEL_COLUMN) and value
        }
        reasons = {
            name.removeprefix(_REASON_COLUMN): value
            for name, value in row.items()
            if name and name.startswith(_REASON_COLUMN) and value
        }
        judged = _judged(record, str(number), where)
        yield LabelledItem(judged, labels, has_answer="answer" in record, reasons=reasons)


def _csv_rows(file: Path) -> Iterator[dict[str, str]]:
    text = "\n".join(line for _, line in read_lines(file, _EXPECTED))
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        yield from csv.DictReader(io.StringIO(text), delimiter=delimiter_of(text), strict=True)
    except csv.Error as error:
        raise DataError(f"{file}: not CSV ({error}). Expected: {_EXPECTED}.") from error


def _read_label_studio(file: Path) -> Iterator[LabelledItem]:
    """The grade that most annotations of a task give, with the first reason of one that gives it; cancelled annotations
    do not count.
    """
    for number, task in enumerate(as_list(read_json(file, _EXPECTED).value, str(file)), start=1):
        where = f"{file}, task {number}"
        record = as_record(task, where)
        given: dict[str, Counter[int]] = {}
        reasons: dict[tuple[str, int], str] = {}
        for annotation in as_list(record.get("annotations") or [], where):
            controls = as_record(annotation, where)
            why = dict(_written(controls, where))
            for name, grade in _annotated(controls, where):
                given.setdefault(name, Counter())[grade] += 1
                if name in why:
                    reasons.setdefault((name, grade), why[name])
        chosen = {name: _most_common(grades) for name, grades in given.items()}
        labels = {name: grade for name, grade in chosen.items() if grade is not None}
        ties = tuple(name for name, grade in chosen.items() if grade is None)
        data = as_record(record.get("data"), f"{where}, field 'data'")
        judged = _judged({"id": str(record.get("id", number)), **data}, str(number), where)
        why = {name: reasons[name, grade] for name, grade in labels.items() if (name, grade) in reasons}
        yield LabelledItem(judged, labels, ties, has_answer="answer" in data, reasons=why)


def _annotated(annotation: Record, where: str) -> Iterator[tuple[str, int]]:
    """(metric, grade) of every control in an annotation: choices, rating and number are understood."""
    for name, value in _controls(annotation, where):
        for kind in ("choices", "rating", "number"):
            if kind in value:
                yield name, _grade(_only(value[kind], where), where)


def _written(annotation: Record, where: str) -> Iterator[tuple[str, str]]:
    """(metric, reason) of every text area in an annotation that asks for one."""
    for name, value in _controls(annotation, where):
        if name.startswith(_REASON_CONTROL) and (reason := "\n".join(optional_texts(value, "text", where))):
            yield name.removeprefix(_REASON_CONTROL), reason


def _controls(annotation: Record, where: str) -> Iterator[tuple[str, Record]]:
    """The name and the value of every control; none of a cancelled annotation."""
    if annotation.get("was_cancelled"):
        return
    for result in as_list(annotation.get("result", []), where):
        control = as_record(result, where)
        value = as_record(control.get("value", {}), where)
        if value:
            yield required_text(control, "from_name", where), value


def _only(chosen: object, where: str) -> object:
    if isinstance(chosen, list):
        if len(chosen) != 1:
            raise DataError(f"{where}: {len(chosen)} choices came where one was wanted: {chosen}.")
        return chosen[0]
    return chosen


def _most_common(grades: Counter[int]) -> int | None:
    """None if two grades are equally frequent."""
    first, *others = grades.most_common(2)
    return None if others and others[0][1] == first[1] else first[0]


def _grade(value: object, where: str) -> int:
    """A whole number, also written as 2.0 or at the start of a text such as "2 - all of it"; "n/a" is -1."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        if number := _GRADE.match(value):
            return int(number[1])
        if value.strip().lower() in ("n/a", "na", "not applicable", "not_applicable"):
            return NOT_APPLICABLE
    raise DataError(f"{where}: the label {value!r} came, a whole number (or n/a) was wanted.")


def _list_in_cell(row: Mapping[str, str], name: str, where: str) -> list[str]:
    try:
        return texts_in(row.get(name) or "")
    except ValueError as error:
        raise DataError(f"{where}: the cell '{name}' holds {error}") from error


def _judged(record: Record, number: str, where: str) -> JudgeInput:
    sample = Sample(
        id=optional_text(record, "id", where) or number,
        subset=UNNAMED,
        kind=Kind.QA,
        question=required_text(record, "question", where),
        references=optional_texts(record, "references", where),
        history=tuple(_turns(record, where)),
    )
    passages = tuple(Passage(text) for text in optional_texts(record, "passages", where))
    return JudgeInput(sample, optional_text(record, "answer", where), passages)


def _turns(record: Record, where: str) -> Iterator[Turn]:
    turns = record.get("history")
    for number, turn in enumerate(as_list(turns, f"{where}, field 'history'") if turns else [], start=1):
        place = f"{where}, field 'history', turn {number}"
        fields = as_record(turn, place)
        yield Turn(required_text(fields, "question", place), required_text(fields, "answer", place))


def metrics_of(items: Iterable[LabelledItem]) -> list[str]:
    """Names of the metrics that have a label, in order of appearance."""
    return list(dict.fromkeys(name for item in items for name in item.labels))
